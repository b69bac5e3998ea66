"""The errors of plugins.

CortexError
├── PluginInvalidError       a manifest is invalid
├── PluginUnknownError       no plugin of that name is installed
└── PluginRefusedError       the plugin is installed, and the request cannot be carried out
    ├── NotConfirmedError    its requests were not confirmed
    ├── PluginSilentError    its package gives no manifest
    └── UnconfinedError      no sandbox works here, and that was not accepted
"""

from collections.abc import Sequence

from cortex.bus import CortexError, with_fields

NOT_FOUND = 3  # the command line's exit code for every missing object


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


@with_fields
class PluginRefusedError(CortexError):
    """The request cannot be carried out at present."""

    problem: str

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
    """No sandbox works here, and the user has not accepted that."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)

    def __str__(self) -> str:
        return (
            f"plugins cannot be confined here ({self.problem}), so that grants do not hold against "
            "a hostile one: install bubblewrap, or say --unconfined if you trust it"
        )
