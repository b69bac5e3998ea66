"""What `ctest -V` prints of a test before its verdict: each line begins with the test's number."""

import re
from collections.abc import Sequence

_VERDICT = re.compile(r"\s*\d+/\d+ Test +#(?P<number>\d+): ")
_BOOKKEEPING = re.compile(r"\s*\d+: (?:Test command|Working Directory|Test timeout|Environment)\b")
_MAX_LINES = 40


def printed_above(index: int, texts: Sequence[str]) -> list[int]:
    """Return the positions of what the test printed whose verdict stands at *index*."""
    found = _VERDICT.match(texts[index])
    if not found:
        return []
    mark = f"{found['number']}: "
    lines: list[int] = []
    for i in range(index - 1, max(-1, index - 1 - _MAX_LINES), -1):
        text = texts[i].lstrip()
        if text.startswith(mark) and not _BOOKKEEPING.match(text):
            lines.append(i)
        elif text:
            break
    return lines[::-1]
