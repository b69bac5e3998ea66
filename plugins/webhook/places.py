"""Paths into a body, such as `repository.name`, `runs[0].url` or `["a.b"].c`, and their values."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cortex.bus import within

_STEP = re.compile(r"""\.?(?:([^.\[\]"\s]+)|\[(\d{1,6})\]|\["([^"]+)"\])""")
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "path": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list,),
    "map": (dict,),
}

Step = str | int


def steps_of(place: str) -> tuple[Step, ...]:
    """The names and numbers of *place*, after an optional `$`; none where it is no place."""
    text, steps, at = place.removeprefix("$"), list[Step](), 0
    while at < len(text):
        match = _STEP.match(text, at)
        dotted = match is not None and match[0].startswith(".")
        plain = match is not None and match[1] is not None
        if match is None or (plain and not dotted and steps):
            return ()
        steps.append(int(match[2]) if match[2] is not None else match[1] or match[3])
        at = match.end()
    return tuple(steps)


def value_at(payload: Any, place: str) -> Any:
    """The value at *place* in a body; None if there is none."""
    for step in steps_of(place):
        if isinstance(step, int):
            there = isinstance(payload, list) and step < len(payload)
        else:
            there = isinstance(payload, dict) and step in payload
        if not there:
            return None
        payload = payload[step]
    return payload


def is_of(value: Any, kind: str) -> bool:
    """Whether *value* is of the type *kind*; of "" any is."""
    if not kind:
        return True
    # Python holds True for an integer; JSON does not.
    return isinstance(value, _TYPES[kind]) and (isinstance(value, bool) == (kind == "boolean"))


def workspace_in(named: str, folders: Sequence[str]) -> str:
    """The folder that a post *named*, if it is one of *folders* or inside one; otherwise "".

    A relative one is in the first of them that has it. The result has no links and no "..", so the
    folder that is opened is the one that was checked. If this process cannot see the disk, the hub
    checks the real folder.
    """
    if "\0" in named:
        return ""
    # Not normalised before its links are followed: "link/.." is where the link leads, and up.
    found = [os.path.realpath(Path(folder, named)) for folder in folders]
    inside = [each for each in found if within(each, folders)]
    return next(filter(os.path.isdir, inside), inside[0] if inside else "")


def path_in(named: str, workspace: str) -> str:
    """The path that a post *named*, as `workspace_in` gives it; a relative one stays relative."""
    found = workspace_in(named, [workspace]) if workspace else ""
    if not found or Path(named).is_absolute():
        return found
    return os.path.relpath(found, os.path.realpath(workspace))
