"""What a process lacks, as events name it and as people read it."""

import re

from .diagnostics import Diagnostic

# Codes of findings that name something which is not there, and what kind of thing that is.
KINDS = {
    "P301": "process",
    "P306": "interface",
    "P401": "action",
    "P402": "gate",
    "P403": "topic",
    "P408": "process",
    "P417": "tool",
}
_QUOTED = re.compile(r"`([^`]+)`")


def absent_by(found: Diagnostic) -> str:
    """What is missing by *found*: "action fix", or what it says where it names nothing absent."""
    name, kind = _QUOTED.search(found.message), KINDS.get(found.code)
    return f"{kind} {name[1]}" if kind and name else found.message


def absence(missing: str) -> str:
    """A clause that says what is wrong: what `absent_by` gave is a name, or says it already."""
    kind, _, name = missing.partition(" ")
    is_name = kind in KINDS.values() and name and " " not in name
    return f"{missing} is not there" if is_name else missing
