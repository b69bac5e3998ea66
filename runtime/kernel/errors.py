"""What can go wrong in the kernel.

CortexError
├── ComponentInvalidError    a component is not made as components are
├── ManifestError            a manifest names something that cannot be started
├── HomeError                the home cannot be used
│   └── ConfigError              config.toml has something wrong in it
├── NotReadyError            a component did not start in time
├── NotFoundError            what was named is not there, or several fit
└── RefusedError             it is there, and it cannot be done now
"""

from cortex.bus import CortexError


class ComponentInvalidError(CortexError):
    """A component is not made as components are."""

    def __init__(self, component: str, problem: str) -> None:
        super().__init__(component, problem)
        self.component, self.problem = component, problem

    def __str__(self) -> str:
        return f"{self.component} {self.problem}"


class ManifestError(CortexError):
    """A manifest names something that cannot be started."""

    def __init__(self, entry: str, problem: str) -> None:
        super().__init__(entry, problem)
        self.entry, self.problem = entry, problem

    def __str__(self) -> str:
        return f"component {self.entry}: {self.problem}"


class HomeError(CortexError):
    """The home cannot be used."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class ConfigError(HomeError):
    """config.toml has something wrong in it."""


class NotReadyError(CortexError, TimeoutError):
    """A component did not start in time."""

    def __init__(self, component: str, problem: str) -> None:
        super().__init__(component, problem)
        self.component, self.problem = component, problem

    def __str__(self) -> str:
        return f"{self.component} did not start: {self.problem}"


class NotFoundError(CortexError, LookupError):
    """What was named is not there, or several fit."""

    exit_code = 3  # the command line's for what is not there

    def __init__(self, what: str, name: str, hint: str) -> None:
        super().__init__(what, name, hint)
        self.what, self.name, self.hint = what, name, hint

    def __str__(self) -> str:
        return (
            f"{self.what} {self.name!r} {self.hint}" if self.name else f"{self.what}: {self.hint}"
        )


class RefusedError(CortexError):
    """What was asked for cannot be done as things stand."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return self.problem
