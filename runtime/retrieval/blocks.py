"""The blocks of a text: the smallest parts that its kind of file has, found by regular expressions.

A pass over the characters in C, not over the lines in Python: indexing is bound by it. A line can
be the whole file, so no pattern may try many ways to match one.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

HEADING_CHARS: Final = 120  # of one title
WHOLE_CHARS: Final = 1_000  # a section up to this length is one block
_SAMPLE_CHARS: Final = 20_000  # of a text that say whether it is a transcript

_MARK = r"(?:(?P<marks>\#{1,6})[ \t]+(?P<title>[^\n]*)|(?P<fence>```+|~~~+)[^\n]*)"
_FIRST_MARK = re.compile(_MARK)
# Not by `^`, which is tried at every character: the ends of lines are found far quicker.
_NEXT_MARK = re.compile(rf"\n{_MARK}")
_REST = re.compile(r"^(?P<title>\S.*)\n(?P<marks>[=\-~^\"'*+#])(?P=marks){2,}[ \t]*$", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_TURN = re.compile(r"^[A-Z][\w .'-]{0,30}: ", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_KEY = re.compile(r"^(?! |\t|\]|\}|#|$)\"?([\w .-]*)\"?", re.MULTILINE)
_JSON_KEY = re.compile(r"^(?: {1,4}|\t)[\"{\[][^\n]*", re.MULTILINE)
_DEFINITION = re.compile(
    r"^(?:@|(?:(?:export|default|pub(?:\([\w:]+\))?|public|private|protected|static|abstract|async|"
    r"final|unsafe|extern)[ \t]+){0,8}(?:def|class|func|fn|function|impl|struct|enum|trait|"
    r"interface|type|module|namespace|const|macro_rules!)\b)[^\n]*",
    re.MULTILINE,
)
_HEADING = re.compile(r"#{1,6} \S")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#])\1{2,}\s*$")
_CODE_FENCE = re.compile(r"\s*(```|~~~)")
CODE_SUFFIXES: Final = frozenset(
    re.findall(
        r"\S+",
        ".c .cc .cpp .cs .go .h .hpp .java .js .jsx .kt .php .py .rb .rs .scala .sh .swift .ts "
        ".tsx",
    )
)


class SourceBlock(NamedTuple):
    """Consecutive characters, or lines, of a text that belong together."""

    start: int
    end: int
    heading: str
    alone: bool = False  # never joined with its neighbours: one turn of a transcript
    opens: bool = False  # it begins with its heading
    speaker: str = ""


def blocks_of(suffix: str, text: str) -> Iterator[SourceBlock]:
    """The blocks of *text*, which together are all of it."""
    if suffix in CODE_SUFFIXES:
        return _definitions(text, 0)
    return _CUTTERS.get(suffix, _text)(text)


def _markdown(text: str) -> Iterator[SourceBlock]:
    titles: list[tuple[int, str]] = []
    start, fence = 0, ""
    for match in _marks(text):
        if mark := match["fence"]:
            if not fence:
                yield from _paragraphs(text, start, match.start("fence"), _path(titles))
                start, fence = match.start("fence"), mark
            elif mark.startswith(fence):
                yield SourceBlock(start, match.end(), _path(titles))
                start, fence = match.end(), ""
        elif not fence:
            yield from _paragraphs(text, start, match.start("marks"), _path(titles))
            start, level = match.start("marks"), len(match["marks"])
            titles = [one for one in titles if one[0] < level]
            titles.append((level, match["title"].rstrip(" \t#")[:HEADING_CHARS]))
    yield from _paragraphs(text, start, len(text), _path(titles))


def _marks(text: str) -> Iterator[re.Match[str]]:
    """The titles of *text*, and the ends of its fences."""
    if first := _FIRST_MARK.match(text):
        yield first
    yield from _NEXT_MARK.finditer(text)


def _rest(text: str) -> Iterator[SourceBlock]:
    titles: list[tuple[int, str]] = []
    marks: list[str] = []  # in the order in which they appear: the first is the outermost
    start = 0
    for match in _REST.finditer(text):
        yield from _paragraphs(text, start, match.start(), _path(titles))
        if match["marks"] not in marks:
            marks.append(match["marks"])
        start, level = match.start(), marks.index(match["marks"])
        titles = [one for one in titles if one[0] < level]
        titles.append((level, match["title"][:HEADING_CHARS]))
    yield from _paragraphs(text, start, len(text), _path(titles))


def _path(titles: list[tuple[int, str]]) -> str:
    return " > ".join(title for _, title in titles if title)


def _paragraphs(text: str, start: int, end: int, heading: str) -> Iterator[SourceBlock]:
    if end - start <= WHOLE_CHARS:
        if start < end:
            yield SourceBlock(start, end, heading)
        return
    for match in _PARAGRAPH.finditer(text, start, end):
        yield SourceBlock(start, match.end(), heading)
        start = match.end()
    if start < end:
        yield SourceBlock(start, end, heading)


def _text(text: str) -> Iterator[SourceBlock]:
    sample = text[:_SAMPLE_CHARS]
    lines = sum(1 for line in sample.splitlines() if line.strip())
    if lines > 1 and len(_TURN.findall(sample)) * 2 > lines:
        return _turns(text)
    return _paragraphs(text, 0, len(text), "")


def _turns(text: str) -> Iterator[SourceBlock]:
    start, heading = 0, ""
    for match in _LINE.finditer(text):
        if _TURN.match(text, match.start()):
            yield from _turn(text, start, match.start(), heading)
            start = match.start()
        elif not match[0].strip() or not _TURN.match(text, start):
            # A line between two turns, after an empty line, is a title: a date, a scene.
            yield from _turn(text, start, match.start(), heading)
            start = match.start()
            heading = match[0].strip()[:HEADING_CHARS] or heading
    yield from _turn(text, start, len(text), heading)


def _turn(text: str, start: int, end: int, heading: str) -> Iterator[SourceBlock]:
    if start < end:
        yield SourceBlock(start, end, heading, alone=_TURN.match(text, start) is not None)


def _definitions(text: str, start: int) -> Iterator[SourceBlock]:
    heading = ""
    decorated = False
    for match in _DEFINITION.finditer(text):
        if not decorated:  # a decorator belongs to what follows it
            yield from _paragraphs(text, start, match.start(), heading)
            start = match.start()
        decorated = match[0].startswith("@")
        if not decorated:
            heading = match[0].rstrip(" \t{:")[:HEADING_CHARS]
    yield from _paragraphs(text, start, len(text), heading)


def _yaml(text: str) -> Iterator[SourceBlock]:
    return _entries(text, _KEY)


def _json(text: str) -> Iterator[SourceBlock]:
    return _entries(text, _JSON_KEY)


def _entries(text: str, opening: re.Pattern[str]) -> Iterator[SourceBlock]:
    """One block an entry of the outermost level."""
    start = 0
    for match in opening.finditer(text):
        if match.start() > start:
            yield SourceBlock(start, match.start(), "")
            start = match.start()
    if start < len(text):
        yield SourceBlock(start, len(text), "")


def _csv(text: str) -> Iterator[SourceBlock]:
    header = text.split("\n", 1)[0].strip()[:HEADING_CHARS]
    for match in _LINE.finditer(text):
        yield SourceBlock(match.start(), match.end(), header)


def _lines(text: str) -> Iterator[SourceBlock]:
    for match in _LINE.finditer(text):
        yield SourceBlock(match.start(), match.end(), "")


_CUTTERS: Final[dict[str, Callable[[str], Iterator[SourceBlock]]]] = {
    ".md": _markdown,
    ".markdown": _markdown,
    ".rst": _rest,
    ".json": _json,
    ".jsonl": _lines,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".csv": _csv,
    ".tsv": _csv,
    ".log": _lines,
}


def blocks_of_lines(lines: list[str], most_chars: int) -> Iterator[SourceBlock]:
    """The blocks of *lines*, which may be of any kind, by lines: titles, paragraphs, fences.

    None has more than *most_chars* unless one line alone has; the heading is the nearest above.
    """
    heading = ""
    starts = [*_paragraph_starts(lines), (len(lines), "")]
    for (first, title), (end, _) in pairwise(starts):
        heading, opens = title or heading, bool(title)
        size, begin = 0, first
        for at in range(first, end):
            if size and size + len(lines[at]) + 1 > most_chars:
                yield SourceBlock(begin, at, heading, opens=opens)
                size, begin, opens = 0, at, False
            size += len(lines[at]) + 1
        yield SourceBlock(begin, end, heading, opens=opens)


def _paragraph_starts(lines: list[str]) -> Iterator[tuple[int, str]]:
    """First line of each paragraph and the heading it is; blank lines end what they follow."""
    in_code, after_blank = False, True
    for at, line in enumerate(lines):
        title = "" if in_code else _title(lines, at)
        if at == 0 or title or (after_blank and line.strip() and not in_code):
            yield at, title
        after_blank = not line.strip()
        if _CODE_FENCE.match(line):
            in_code = not in_code


def _title(lines: list[str], at: int) -> str:
    line = lines[at]
    if _HEADING.match(line):
        return line.lstrip("#").strip()
    below = lines[at + 1] if at + 1 < len(lines) else ""
    text = line.strip()
    if text and len(below.rstrip()) >= len(text) and _UNDERLINE.match(below):
        return "" if _UNDERLINE.match(line) else text
    return ""
