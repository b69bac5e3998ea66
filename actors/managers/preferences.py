"""What the configuration prefers where several processes fit."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct


class Preferences(Struct, frozen=True):
    """Names of processes, by interface or by trigger (``"source=ci status=failure"``)."""

    project: Mapping[str, str] = {}
    user: Mapping[str, str] = {}

    def for_interface(self, interface: str) -> list[str]:
        """Processes to take for *interface*, the most wanted first."""
        return [each[interface] for each in (self.project, self.user) if interface in each]

    def for_trigger(self, fields: Mapping[str, Any]) -> list[str]:
        """Processes to take for a trigger with *fields*, the most wanted first."""
        return [*_fitting(self.project, fields), *_fitting(self.user, fields)]

    def whose(self, process: str, wanted: Sequence[str]) -> str:
        """Whose configuration named *process*, which is among *wanted*."""
        by_project = process in wanted and process in self.project.values()
        return "the project's configuration" if by_project else "the user's configuration"


def _fitting(preferences: Mapping[str, str], fields: Mapping[str, Any]) -> list[str]:
    """Those whose every condition holds, with the most conditions first."""
    found: list[tuple[int, str]] = []
    for written, process in preferences.items():
        conditions = [part.partition("=") for part in written.split()]
        if all(
            equals and _written(fields.get(name)) == value for name, equals, value in conditions
        ):
            found.append((-len(conditions), process))
    return [process for _, process in sorted(found, key=lambda each: each[0])]


def _written(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
