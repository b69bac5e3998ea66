"""Stage five: the process table, and the process for each trigger and interface."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ..executable.evaluate import equal
from ..executable.linked import EventTrigger, LinkedProcess, ManualTrigger

MANUAL = "manual"  # the field `source` of a trigger that names its process


class Candidate(Struct, frozen=True):
    """A process that fits, and by how many fields."""

    name: str
    digest: str
    specificity: int


class Match(Struct, frozen=True, kw_only=True):
    """The process that was chosen, and those it was chosen over."""

    chosen: LinkedProcess
    specificity: int = 0
    by: str = "specificity"  # or "preference", or "ownership": what is shipped gave way
    runners_up: tuple[Candidate, ...] = ()


class Tie(Struct, frozen=True, kw_only=True):
    """Processes that fit equally well; none is chosen."""

    candidates: tuple[Candidate, ...]

    def __str__(self) -> str:
        names = ", ".join(candidate.name for candidate in self.candidates)
        return f"{names} fit equally well: prefer one in the configuration or match more fields"


class ProcessTable:
    """Linked processes by name, version and digest. A value: adding makes another table."""

    def __init__(
        self,
        versions: Mapping[str, Mapping[int, LinkedProcess]] | None = None,
        digests: Mapping[str, LinkedProcess] | None = None,
    ) -> None:
        self._versions = dict(versions or {})
        self._digests = dict(digests or {})

    def add(self, processes: Iterable[LinkedProcess]) -> "ProcessTable":
        """Return the table with *processes* in it.

        The same version with another digest, as after a change of its parent, takes the place of
        the one before; that one can still be found by its digest.
        """
        versions = {name: dict(each) for name, each in self._versions.items()}
        digests = dict(self._digests)
        for process in processes:
            versions.setdefault(process.name, {})[process.version] = process
            digests[process.digest] = process
        return ProcessTable(versions, digests)

    def without(self, name: str) -> "ProcessTable":
        """Return the table with *name* retired: found by digest only."""
        versions = {each: found for each, found in self._versions.items() if each != name}
        return ProcessTable(versions, self._digests)

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return tuple(sorted(self._versions))

    def versions(self, name: str) -> tuple[LinkedProcess, ...]:
        """Return the versions of *name*, the lowest first; none if there is no such process."""
        return tuple(process for _, process in sorted(self._versions.get(name, {}).items()))

    def get(self, name: str, version: int | None = None) -> LinkedProcess | None:
        """Return *name* in *version*, or in its highest."""
        versions = self._versions.get(name)
        if not versions:
            return None
        return versions.get(max(versions) if version is None else version)

    def by_digest(self, digest: str) -> LinkedProcess | None:
        """Return the process with *digest*, replaced and retired ones included."""
        return self._digests.get(digest)

    def known(self) -> dict[tuple[str, int], str]:
        """Return the source digest of each (name, version), as ``compile_sources`` asks for it."""
        return {
            (name, version): process.source_digest
            for name, versions in self._versions.items()
            for version, process in versions.items()
        }

    def match(
        self,
        fields: Mapping[str, Any],
        preferences: Sequence[str] = (),
        shipped: Container[str] = (),
    ) -> Match | Tie | None:
        """Return the process that the event with *fields* triggers.

        The most specific one wins: the one whose trigger names the most fields. Among equals the
        first that is in *preferences* (the project's configuration, then the user's) wins. One that
        is *shipped* competes only where no other fits, unless it is preferred.
        """
        found = []
        for name in self.names():
            process = self.get(name)
            if process is None or process.abstract:
                continue
            fits = [
                len(trigger.match)
                for trigger in process.triggers
                if isinstance(trigger, EventTrigger) and fits_event(trigger, fields)
            ]
            if fits:
                found.append((process, max(fits)))
        return _choose(found, preferences, shipped)

    def implementing(self, interface: str, preferences: Sequence[str] = ()) -> Match | Tie | None:
        """Return the process that runs for *interface*: the only one, or the preferred one."""
        found = []
        for name in self.names():
            process = self.get(name)
            if process and not process.abstract and interface in dict(process.implements):
                found.append((process, 0))
        return _choose(found, preferences)


def fits_event(trigger: EventTrigger, fields: Mapping[str, Any]) -> bool:
    """Return whether every field that *trigger* names has one of the values it lists."""
    return all(
        any(equal(_field(fields, name), value) for value in values)
        for name, values in trigger.match
    )


def answers(process: LinkedProcess, fields: Mapping[str, Any]) -> bool:
    """Return whether *process* answers something that happened, with *fields*."""
    if process.abstract:
        return False
    if fields.get("source") == MANUAL and "process" in fields:
        named = fields["process"] == process.name
        return named and any(isinstance(each, ManualTrigger) for each in process.triggers)
    events = (each for each in process.triggers if isinstance(each, EventTrigger))
    return any(fits_event(each, fields) for each in events)


def offered_inputs(
    process: LinkedProcess, fields: Mapping[str, Any], inputs: Mapping[str, Any]
) -> dict[str, Any]:
    """Of a trigger's *inputs*, those that *process* declares.

    Inputs that its steps need and no source declares may also be in the *fields*.
    """
    bound = process.from_trigger or ()
    found = {name: fields[name] for name in bound if name in fields}
    declared = {field.name for field in process.inputs}
    return found | {name: value for name, value in inputs.items() if name in declared}


def _field(fields: Mapping[str, Any], name: str) -> Any:
    """Return the field *name*; dots go into maps."""
    if name in fields:
        return fields[name]
    value: Any = fields
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _ABSENT
        value = value[part]
    return value


_ABSENT = object()  # not even equal to null


def _choose(
    found: list[tuple[LinkedProcess, int]],
    preferences: Sequence[str],
    shipped: Container[str] = (),
) -> Match | Tie | None:
    if not found:
        return None
    found.sort(key=lambda item: (-item[1], item[0].name))
    named = [item for item in found if item[0].name not in shipped or item[0].name in preferences]
    wanted = named or found
    best = [(process, fits) for process, fits in wanted if fits == wanted[0][1]]
    by = "specificity" if len(wanted) == len(found) else "ownership"
    if len(best) > 1:
        rank = {name: place for place, name in reversed(list(enumerate(preferences)))}
        preferred = [item for item in best if item[0].name in rank]
        if not preferred:
            return Tie(candidates=tuple(_candidate(*item) for item in best))
        best = [min(preferred, key=lambda item: rank[item[0].name])]
        by = "preference"
    chosen, fits = best[0]
    return Match(
        chosen=chosen,
        specificity=fits,
        by=by,
        runners_up=tuple(_candidate(*item) for item in found if item[0] is not chosen),
    )


def _candidate(process: LinkedProcess, specificity: int) -> Candidate:
    return Candidate(process.name, process.digest, specificity)
