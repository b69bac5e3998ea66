"""What can go wrong in the kernel.

CortexError
├── ComponentInvalidError    a component class is invalid
├── ManifestError            a component of a manifest cannot be started
├── HomeError                the home cannot be used
│   └── ConfigError              config.toml has an error
├── NotReadyError            a component did not start in time
├── NotFoundError            the named thing does not exist, or several match
└── RefusedError             it exists, but the operation is not possible now
"""

from cortex.bus import CortexError, with_fields


@with_fields
class ComponentInvalidError(CortexError):
    """A component class is invalid."""

    component: str
    problem: str

    says = "{component} {problem}"


@with_fields
class ManifestError(CortexError):
    """A component of a manifest cannot be started."""

    entry: str
    problem: str

    says = "component {entry}: {problem}"


@with_fields
class HomeError(CortexError):
    """The home cannot be used."""

    path: str
    problem: str

    says = "{path}: {problem}"


class ConfigError(HomeError):
    """config.toml has an error."""


@with_fields
class NotReadyError(CortexError, TimeoutError):
    """A component did not start in time."""

    component: str
    problem: str

    says = "{component} did not start: {problem}"


@with_fields
class NotFoundError(CortexError, LookupError):
    """The named thing does not exist, or several match."""

    exit_code = 3  # the command line's for a missing thing

    what: str
    name: str
    hint: str

    def __str__(self) -> str:
        return (
            f"{self.what} {self.name!r} {self.hint}" if self.name else f"{self.what}: {self.hint}"
        )


@with_fields
class RefusedError(CortexError):
    """The operation is not possible in the current state."""

    problem: str

    def __str__(self) -> str:
        return self.problem
