"""Reads the text of a package of memory; without what it takes to write one."""

import re
from collections.abc import Iterator
from typing import Final

from cortex.runtime.ctx import CtxBoundError, CtxFormatError, decode

HOLDS: Final = "memory that holds:"
REPLACED: Final = "no longer true:"
_NUMBERED: Final = re.compile(r"(\d+) \d{4}-\d\d-\d\d [^:]*: (.*)", re.DOTALL)


def numbered_in(text: str) -> Iterator[tuple[int, str]]:
    """Number and content of each memory that holds, in the *text* of a package."""
    if not text.startswith(HOLDS):
        try:
            text = decode(text, kind="text").text or ""
        except (CtxBoundError, CtxFormatError):
            return
    number, content = 0, list[str]()
    for line in (*text.split("\n")[1:], REPLACED):
        if line.startswith("  "):
            content.append(line.strip())
            continue
        if number:
            yield number, "\n".join(content)
        found = _NUMBERED.fullmatch(line)
        if found is None:  # what follows is how it came about, or what was replaced
            return
        number, content = int(found[1]), [found[2]]
