"""Matches changes of files with processes to start; pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

import msgspec

from cortex.bus.events import TriggerReceived
from cortex.runtime.processes import FileTrigger, LinkedProcess

from ..tools import glob_of

SOURCE = "file"  # the field `source` of a trigger that changed files fired
MOST = 1_000  # paths that one trigger names
MOST_BYTES = 96 * 1024  # of them: several events carry them on the way to a step
WILD = frozenset("*?[{")


class Change(msgspec.Struct, frozen=True, order=True):
    """One file that changed."""

    path: str  # from the watched folder
    kind: str  # "added", "modified" or "deleted"


def triggers_of(process: LinkedProcess | None) -> tuple[FileTrigger, ...]:
    """The file triggers of *process*; none of an abstract one."""
    if process is None or process.abstract:
        return ()
    return tuple(each for each in process.triggers if isinstance(each, FileTrigger))


def folders_of(triggers: Iterable[FileTrigger]) -> set[str]:
    """The folders in which *triggers* can match, relative to the watched one."""
    return {_fixed(path) for trigger in triggers for path in trigger.paths}


def fitting(triggers: Iterable[FileTrigger], changes: Iterable[Change]) -> list[Change]:
    """The *changes* that match one of *triggers*, sorted by path."""
    wanted = [(set(t.changes), [_pattern(path) for path in t.paths]) for t in triggers]
    return sorted(
        change
        for change in set(changes)
        if any(
            change.kind in kinds and any(each.fullmatch(change.path) for each in patterns)
            for kinds, patterns in wanted
        )
    )


def received(
    processes: Mapping[str, tuple[FileTrigger, ...]],
    changes: Iterable[Change],
    workspace: str,
    trigger_id: str,
) -> Iterator[TriggerReceived]:
    """Triggers for *processes*, by name, from *changes*: one, or more if there are many."""
    changes = list(changes)
    for name, triggers in sorted(processes.items()):
        found = fitting(triggers, changes)
        if not found:
            continue
        for number, paths in enumerate(_parts([change.path for change in found]), 1):
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            yield TriggerReceived(
                trigger_id=f"{trigger_id}-{name}" + (f"-{number}" if number > 1 else ""),
                fields={"source": SOURCE, "process": name},
                inputs={"path": paths[0], "paths": paths},
                goal=f"{paths[0]}{more} changed",
                workspace=workspace,
            )


def _parts(paths: Iterable[str]) -> Iterator[list[str]]:
    """*paths* in chunks that fit into an event."""
    part: list[str] = []
    size_bytes = 0
    for path in paths:
        size_bytes += len(path.encode()) + 3
        if part and (len(part) == MOST or size_bytes > MOST_BYTES):
            yield part
            part, size_bytes = [], len(path.encode()) + 3
        part.append(path)
    if part:
        yield part


def _fixed(path: str) -> str:
    """The fixed folder at the start of a pattern."""
    parts = PurePosixPath(path).parts[:-1]
    plain: list[str] = []
    for part in parts:
        if WILD & set(part):
            break
        plain.append(part)
    return "/".join(plain)


def _pattern(path: str) -> re.Pattern[str]:
    try:
        return glob_of(path)
    except ValueError:  # unbalanced brackets: it is a literal file name
        return re.compile(re.escape(path))
