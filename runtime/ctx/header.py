"""The first line of a package: its maker, the kind of its source, and what a reader must undo."""

from collections.abc import Sequence
from typing import Any

import msgspec

from .errors import CtxFormatError
from .package import KINDS, MARK

_MODES = ("exact", "condensed", "drafted", "extracted", "verbatim")
_FLAGS = ("stamps", "stream")


class Header(msgspec.Struct, frozen=True):
    """What `get` reads of a package."""

    mode: Any
    kind: Any
    flags: tuple[str, ...]
    legend: list[str]
    body: str


def put(
    mode: str, kind: str, body: str, flags: Sequence[str] = (), legend: Sequence[str] = ()
) -> str:
    """*body* under its header and its *legend*: `#ctx exact yaml 2 names:`."""
    words = [MARK, mode, kind, *flags]
    if legend:
        words += [str(len(legend)), "names:"]
    return "\n".join([" ".join(words), *legend, body])


def get(text: str) -> Header | None:
    """The header of *text*; None if it is compact JSON, which has none.

    Raises:
        CtxFormatError: the first line begins like a header and is malformed.
    """
    if not text.startswith(MARK):
        return None
    line, _, rest = text.partition("\n")
    words = line.split(" ")
    names = 0
    if words[-1] == "names:" and words[-2].isdecimal() and len(words[-2]) < 6:
        names = int(words[-2])
        words = words[:-2]
    if (
        len(words) < 3
        or words[0] != MARK
        or words[1] not in _MODES
        or words[2] not in KINDS
        or not set(words[3:]) <= set(_FLAGS)
    ):
        raise CtxFormatError(f"{line[:60]!r} is not a header of a package", 1)
    lines = rest.split("\n", names) if names else [rest]
    if len(lines) <= names:
        raise CtxFormatError(f"the legend ends before its {names} names", 1)
    return Header(words[1], words[2], tuple(words[3:]), lines[:names], lines[-1])
