"""What can go wrong with plugins.

CortexError
├── PluginInvalidError       a manifest is not made as manifests are
├── PluginUnknownError       no plugin of that name is installed
└── PluginRefusedError       it is there, and it cannot be done so
    ├── NotConfirmedError    nobody confirmed what it asks for
    ├── PluginSilentError    its package does not say what it is
    └── UnconfinedError      no sandbox holds here, and nobody said that this is fine
"""

from collections.abc import Sequence

from cortex.bus import CortexError

NOT_FOUND = 3  # as the command line says of everything that is not there


class PluginInvalidError(CortexError):
    """A manifest is not made as manifests are; every problem is named."""

    def __init__(self, plugin: str, problems: Sequence[str]) -> None:
        super().__init__(plugin, tuple(problems))
        self.plugin, self.problems = plugin, tuple(problems)

    def __str__(self) -> str:
        return f"the manifest of plugin {self.plugin} is wrong: {'; '.join(self.problems)}"


class PluginUnknownError(CortexError, LookupError):
    """No plugin of that name is installed."""

    exit_code = NOT_FOUND

    def __init__(self, plugin: str, known: Sequence[str]) -> None:
        super().__init__(plugin, tuple(known))
        self.plugin, self.known = plugin, tuple(known)

    def __str__(self) -> str:
        there = ", ".join(self.known) or "none"
        return (
            f"no plugin {self.plugin!r} is installed (there are: {there}): install its package "
            "into the environment that Cortex runs in"
        )


class PluginRefusedError(CortexError):
    """What was asked for cannot be done as things stand."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return self.problem


class PluginSilentError(PluginRefusedError):
    """A plugin's package does not say what it is, mostly since it cannot be imported."""

    def __init__(self, plugin: str, why: str) -> None:
        super().__init__(f"does not describe itself: {why}")
        self.args = plugin, why  # or it does not survive the trip between processes
        self.plugin = plugin

    def __str__(self) -> str:
        return f"plugin {self.plugin} {self.problem}"


class NotConfirmedError(PluginRefusedError):
    """Nobody confirmed what a plugin asks for."""


class UnconfinedError(PluginRefusedError):
    """No sandbox holds here, and nobody said that this is fine."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)

    def __str__(self) -> str:
        return (
            f"plugins cannot be confined here ({self.problem}), so that grants do not hold against "
            "a hostile one: install bubblewrap, or say --unconfined if you trust it"
        )
