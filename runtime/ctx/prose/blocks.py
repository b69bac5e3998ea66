"""Splits a text into prose, which may be condensed, and lines that stay unchanged.

All that is not surely prose stays: code, tables, headings, markup, anything indented or aligned.
"""

import re
from collections.abc import Iterator

import msgspec

from . import sentences

_FENCE = re.compile(r"\s*(```+|~~~+)")
_ITEM = re.compile(r"(\s*(?:[-*+]|\d{1,3}[.)]|#\.)\s+(?:\[[ xX]\]\s+)?)")
_QUOTED = re.compile(rf"(?:{_ITEM.pattern})?\s*>")
_HEADING = re.compile(r"#{1,6}\s")
_RULE = re.compile(r"\s*([=\-~`^\"'*+#_.:])\1{2,}\s*$")
_COLUMNS = re.compile(  # below a table's head: `--- | ---`, or `=====  =====`
    r"\s*(?:\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?|={2,}(?: +={2,})+|-{2,}(?: +-{2,})+)\s*$"
)
_MARKUP = re.compile(
    r"\s*(?:\||\+[-=+]|<|\.\. |:\w[\w -]*:(?:\s|$)|\[[^\]]+\]:|\w[\w-]*:\s*$|\s*@|\$ |>>> )"
)
_FIELD = re.compile(r"[\w-]{1,24}: ")
_WORD = re.compile(r"[A-Za-z][a-z']+")


class TextBlock(msgspec.Struct):
    """Lines that belong together."""

    lines: list[str]
    is_prose: bool = False
    head: str = ""  # of a prose block: what its first line begins with, `- ` or blanks


def split(text: str) -> list[TextBlock]:
    """The blocks of *text*, in order; all their lines together are the lines of *text*."""
    blocks: list[TextBlock] = []
    for block in _stretches(text.split("\n")):
        blocks += _paragraphs(block) if block.is_prose else [block]
    return blocks


def _stretches(lines: list[str]) -> Iterator[TextBlock]:
    """Fences and front matter apart from everything else."""
    at = 0
    if lines[0] == "---" and "---" in lines[1:40]:
        at = lines.index("---", 1) + 1
        yield TextBlock(lines[:at])
    free: list[str] = []
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if not fence:
            free.append(lines[at])
            at += 1
            continue
        yield TextBlock(free, is_prose=True)
        free, start = [], at
        at += 1
        while at < len(lines) and not lines[at].lstrip().startswith(fence.group(1)):
            at += 1
        at = min(at + 1, len(lines))
        yield TextBlock(lines[start:at])
    yield TextBlock(free, is_prose=True)


def _paragraphs(stretch: TextBlock) -> Iterator[TextBlock]:
    lines = stretch.lines
    at, code_above = 0, False
    while at < len(lines):
        start = at
        while at < len(lines) and lines[at].strip():
            at += 1
        if at > start:
            group = lines[start:at]
            literal = code_above and group[0][:1] in " \t"
            yield from [TextBlock(group)] if literal else _pieces(group)
            if not literal:
                code_above = group[-1].rstrip().endswith("::")
        if at < len(lines):
            yield TextBlock([lines[at]])  # the blank line
            at += 1


def _pieces(lines: list[str]) -> Iterator[TextBlock]:
    """The prose and the rest of lines without a blank one between them."""
    if any(_RULE.match(line) or _COLUMNS.match(line) for line in lines) or _are_fields(lines):
        yield TextBlock(lines)
        return
    own: TextBlock | None = None
    for at, line in enumerate(lines):
        if _QUOTED.match(line):
            if own:
                yield own
            yield TextBlock(lines[at:])  # a line without the mark continues the quotation
            return
        head = _ITEM.match(line)
        indent = indent_of(line)
        if _HEADING.match(line) or _MARKUP.match(line):
            if own:
                yield own
            own = None
            yield TextBlock([line])
        elif head:
            if own:
                yield own
            own = TextBlock([line], is_prose=True, head=head.group())
        elif (own is not None and own.head and indent <= len(own.head) + 4) or (
            own is not None and not own.head and indent == indent_of(own.lines[0])
        ):
            own.lines.append(line)
        else:
            if own:
                yield own
            own = TextBlock([line], is_prose=indent < 4, head=line[:indent])
    if own:
        yield own


def indent_of(line: str) -> int:
    """Blanks before the first word of *line*."""
    return len(line) - len(line.lstrip())


def has_heading(block: TextBlock) -> bool:
    """Whether *block*, which is no prose, is or holds a heading, underlined or with its mark."""
    if _FENCE.match(block.lines[0]):
        return False
    return any(map(_HEADING.match, block.lines)) or any(map(_RULE.match, block.lines[1:]))


def _are_fields(lines: list[str]) -> bool:
    """Name: value, line for line, as on top of a letter or in a configuration."""
    return len(lines) > 1 and all(_FIELD.match(line.lstrip()) for line in lines)


def units(text: str) -> list[str]:
    """The sentences of *text*, and its lines that are not prose."""
    found: list[str] = []
    for block in split(text):
        if block.is_prose:
            found += sentences.split(prose_of(block))
        else:
            found += block.lines
    return found


def prose_of(block: TextBlock) -> str:
    """The text of a prose block on one line, without what its first line begins with."""
    first, *rest = block.lines
    return " ".join(line.strip() for line in [first[len(block.head) :], *rest])


def is_prose(text: str) -> bool:
    """Whether *text* reads as sentences: enough of it is words."""
    words = sum(map(len, _WORD.findall(text)))
    return words >= 0.5 * len(text.replace(" ", "")) and len(text) >= 12
