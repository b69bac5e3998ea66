r"""Double quotes around a whole operand: what is between them is taken as it stands.

`set premise "use short sentences"` is one directive, although a directive stands in it. The quotes
are no part of the operand. In straight quotes, `\"` is a quote and `\\` a backslash.
"""

import re
from typing import Final

from msgspec import Struct

_QUOTED: Final = r'(?:"(?:[^"\\]++|\\.)*+"|“[^“”]*”)'
_HEAD: Final = (
    r"(?:set[ \t]+premise|change[ \t]+premise[ \t]+to|prohibit|remove[ \t]+policy|(use))[ \t]+"
)
_WHOLE: Final = re.compile(
    rf"{_HEAD}({_QUOTED})(?=\Z|[ \t]+instead[ \t]+of(?:[ \t]|\Z))",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_OLD: Final = re.compile(
    rf"[ \t]instead[ \t]+of[ \t]+({_QUOTED})\Z", re.IGNORECASE | re.ASCII | re.DOTALL
)
_ESCAPED: Final = re.compile(r'\\(["\\])')
_NEEDS_ESCAPE: Final = re.compile(r'(["\\])')


class Masked(Struct, frozen=True):
    """A text in which a grammar sees no word that stands in a quoted operand."""

    text: str  # as long as the original
    original: str
    quoted: tuple[tuple[int, int], ...] = ()  # where the quoted operands are, quotes included

    def operand(self, start: int, end: int) -> str:
        """The operand at a place of the text, without its quotes."""
        for first, last in self.quoted:
            if start <= first and last <= end and not self._between(start, first, last, end):
                return unquoted(self.original[first:last])
        return self.original[start:end]

    def _between(self, start: int, first: int, last: int, end: int) -> str:
        return (self.original[start:first] + self.original[last:end]).strip()


def masked(text: str) -> Masked:
    """*text*, with its quoted operands covered."""
    if '"' not in text and "“" not in text:
        return Masked(text, text)
    spans: list[tuple[int, int]] = []
    first = _WHOLE.match(text)
    if first is not None and (first[1] or first.end() == len(text)):
        spans.append(first.span(2))
    replaced = text[:3].lower() == "use" and _OLD.search(text, spans[0][1] if spans else 0)
    if replaced:
        spans.append(replaced.span(1))
    covered = text
    for start, end in spans:
        covered = covered[:start] + "_" * (end - start) + covered[end:]
    return Masked(covered, text, tuple(spans))


def quoted(operand: str) -> str:
    """*operand* in quotes."""
    return '"' + _NEEDS_ESCAPE.sub(r"\\\1", operand) + '"'


def unquoted(found: str) -> str:
    """What a quoted operand says."""
    inner = found[1:-1]
    return _ESCAPED.sub(r"\1", inner) if found[0] == '"' and "\\" in inner else inner
