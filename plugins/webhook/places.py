"""Places in a body, such as `repository.name`, `runs[0].url` or `["a.b"].c`, and what is there."""

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
    """What stands at *place* in a body; None where nothing does."""
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
    """The folder that a post *named*, which is one of *folders* or in one; "" where it is not.

    A relative one is in the first of them that has it. Where this process sees nothing of the disk,
    the hub looks at what the folder really is.
    """
    if "\0" in named:
        return ""
    for folder in folders:
        found = os.path.normpath(Path(folder, named))  # an absolute one stays what it is
        if within(found, [folder]) and (len(folders) == 1 or Path(found).is_dir()):
            return found
    lexically = (os.path.normpath(Path(folder, named)) for folder in folders)
    return next((each for each in lexically if within(each, folders)), "")
