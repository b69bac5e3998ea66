"""Which lines around a failure belong to it, and what each of them is good for."""

# ruff: noqa: RUF001  # the very marks that tools print

import re
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from .rules import Hit

_MAX_LINES_BELOW = {
    "indent": 60,
    "section": 1_500,
    "trace": 200,
    "short": 8,
    "line": 0,
    "before": 0,
}
_MAX_LINES_ABOVE = 40
_SAYS_IT_ALONE = frozenset({"error", "failing_command"})
_MAX_BESIDE = 3  # lines at the depth of an error of which nothing shows that they belong to it
_MAX_TITLE_LINES = 7
_MAX_REASONS, _MAX_MESSAGES, _MAX_FRAMES = 3, 4, 3
_MAX_OPENED = 2  # lines below a reason that only opens
_MAX_EXTENSION_CHARS = 6
_PLACE_CLOSES = re.compile(r"(?:,\d+){0,3}\)")  # of `Cart.cs(12,5)`
_MAX_CHARS = 400  # of a line, where its role is decided
_HEADING = re.compile(
    r"[=*#~]{5,}|-{20,}$|_+ (?!_ _)\S.* _+$|##\[|\[ +(?:OK|RUN|FAILED) +\]|--- (?:FAIL|PASS"
    r"|SKIP)|=== "
    r"|(?:PASS|FAIL|ok|not ok|Ran \d+|test \S+ \.\.\.|Tests run)\b|> Task |\[INFO\]|::(?:end)?group"
    r"|TEST-|Start +\d+: |\d+/\d+ Test +#|test \d+$|\$ \S"
    r"|\d+ (?:passed|failed|tests?|examples?|runs)\b|[✓√✔] |section_(?:start|end)"
    # How another test of a verbose unittest went, by its name or its docstring.
    r"|\w+ \([\w.]+\).{0,200} ?\.\.\."
    r"|.{1,200} \.\.\. (?:ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b"
)
_BEGINS = re.compile(
    r"\[ RUN +\]|\[={10}\]|\[  (?:PASSED|FAILED)|=== (?:RUN|CONT)|-{20,}|={20,}|\[-{10}\]"
    r"|##\[group|# \S+$"
)
_FRAME = re.compile(
    r"(?<![\w./\\-])(?P<path>(?:[A-Za-z]:[\\/]|file://)?[\w./\\@+~-]{1,240}\.[A-Za-z]\w{0,9})"
    r"(?::\[?|\(|\", line |: line |:line | line |:in line )(?P<line>\d{1,6})\b"
)
# `*+`: spaces are never given back, or a line that begins with hundreds would be tried from each.
_REASON = re.compile(  # what an exception, an assertion or a panic says
    r"\s*+(?:\[\w+\] +)*(?:E +|=> )?(?:Caused by:|panic: |Failed asserting|Failure/Error:|what\(\):"
    r"|(?:fatal )?error(?:\[\w+\])?:"
    r"|(?:Uncaught |Unhandled )?[\w$.\\:]*(?:Error|Exception|Failure|Failed)\b(?:\s\[\w+\])?(?::|$)"
    r"|.{0,120}\b(?:panicked at|Assertion [`'\w]|[Tt]imed out\b|Timeout of \d)"
    r"|\S+:\d+:? (?:Failure|error:))"
)
_DETAIL = re.compile(
    r"\s*+(?:\[\w+\] +|# +)?(?:"
    r"E   ?\s*(?!File )\S|(?:[Ee]xpect(?:ed|ing|ation)?|[Rr]eceived|[Aa]ctual|[Gg]ot|but was"
    r"|to equal|Which is|left|right|want|wanted|have)\b.{0,40}[:=(]"
    r"|.*\b(?:[Aa]ssert(?:ion)?\b|did not|should (?:be|have|equal)|[Ee]xpected .{1,200}(?:but"
    r"|got|to)|must (?:be|match))"
    r"|Error Message:|Message:|message:|fatal|> {2,}\S|CHECK|REQUIRE|Diff:|[| ]*\^+ \S|reason:"
    r"|Stack Trace:|stacktrace:|[-+] \S|❯|.{1,80} didn't )"
)
_COMPARED = re.compile(r"\s*\S.{0,200} [!=]==? \S")
_PLACE = re.compile(r"\s*(?:at |in |# |❯ |--> )?[\w./\\@-]{1,240}\.\w{1,9}:\d+(?::\d+)?:?$")
_SAYS = re.compile(r"[^\W\d]{2}")
_NO_REASON = re.compile(  # where it happened, and the source that a compiler quotes
    r"\s*(?:at \S.*\)?$|\.\.\. \d+ (?:more|common)|goroutine \d+ \[|created by |exit status \d"
    r"|\d* *\| (?!.*\^ \S)|\d+ (?:errors?|warnings?)(?: generated\.)?$"
    r"|[\w./@*(){}-]+\((?:0x[\da-f?]+|\.\.\.|[{}, ?])*\)$|/\S+:\d+ \+0x)"
)
_RULER = re.compile(r"-{20,}$")
_MAX_DOCSTRING_LINES = 2  # above the ruler under which unittest tells what happened
_PREFIX = re.compile(r"(?:\[\w+\] ?)*\s*")
_LIBRARY = re.compile(
    r"site-packages|dist-packages|node_modules|/lib/python|/usr/(?:lib|include|local/go|src)"
    r"|node:internal|<frozen"
    r"|internal/|\bjava\.base|\borg\.(?:junit|gradle|apache\.maven|testng|scalatest)"
    r"|sun\.reflect|jdk\.internal"
    r"|/rustc/|library/(?:std|core|test)|/gems/|vendor/|/\.cargo/|runtime/(?:panic|asm|proc)"
    r"|testing/testing\.go"
    r"|jest-|mocha/lib|jasmine|_pytest|unittest/|phpunit/|hostedtoolcache|System\.|Microsoft\."
    r"|Xunit|NUnit"
)


class FailureBlock(msgspec.Struct, kw_only=True):
    """Positions (not line numbers) of the lines of one failure, by what they are good for."""

    title: list[int]
    messages: list[int]
    frames: list[int]  # the project's own frames first
    rest: list[int]
    looked: int = 0  # how many lines were looked at for it


class Reference(msgspec.Struct, frozen=True):
    """A place in a source file that a log line points at."""

    path: str  # as the log has it
    line: int  # counted from 1
    library: bool  # True: it is code of a dependency


def references(text: str) -> list[Reference]:
    """Return the places in source files that *text* names."""
    if ":" not in text and "line" not in text and "(" not in text:
        return []
    library = _LIBRARY.search(text) is not None
    return [
        Reference(found["path"].removeprefix("file://"), int(found["line"]), library)
        for found in _FRAME.finditer(text[:600])
        if (not found["path"][0].isdigit() or "/" in found["path"]) and not _is_call(found, text)
    ]


def _is_call(found: re.Match[str], text: str) -> bool:
    """Whether a bracket opens arguments, as in `datetime.date(2018, 7, 23)`, and no place."""
    if text[found.end("path")] != "(":
        return False
    extension = found["path"].rpartition(".")[2]
    return len(extension) > _MAX_EXTENSION_CHARS or not _PLACE_CLOSES.match(text, found.end())


def block_of(
    hit: Hit,
    texts: Sequence[str],
    numbers: Sequence[int],
    starts: set[int],
    *,
    before: Sequence[int] = (),
    whole: bool = True,
) -> FailureBlock:
    """Return what belongs to *hit*; *starts* are the positions where another failure begins.

    What it is known to have said *before* belongs to it too. Where the *whole* is not asked for,
    only its title is.
    """
    title = _title(hit, texts)
    if not whole:
        body = []
    elif hit.rule.shape == "before":
        body = _above(hit.index, texts, numbers)
    else:
        body = [*before, *_below(hit, title[-1], texts, numbers, starts)]
    messages = _messages(body, texts)
    frames = _frames([i for i in body if i not in messages], texts)
    used = {*messages, *frames}
    rest = [i for i in body if i not in used and texts[i].strip()]
    return FailureBlock(title=title, messages=messages, frames=frames, rest=rest, looked=len(body))


def _messages(body: list[int], texts: Sequence[str]) -> list[int]:
    """Reasons before details; the first says what was seen, the last what it came to."""
    reasons = [i for i in body if _REASON.match(texts[i][:_MAX_CHARS])]
    if len(reasons) > _MAX_REASONS:
        reasons = [reasons[0], *reasons[-(_MAX_REASONS - 1) :]]
    reasons = _with_what_follows(reasons, body, texts)
    details = [i for i in body if i not in reasons and _is_detail(texts[i][:_MAX_CHARS])]
    messages = (reasons + details)[:_MAX_MESSAGES]
    return (
        messages
        or [
            i
            for i in body
            if _SAYS.search(texts[i])
            and not _PLACE.match(texts[i])
            and not _NO_REASON.match(texts[i][:_MAX_CHARS])
        ][:2]
    )


def _with_what_follows(reasons: list[int], body: list[int], texts: Sequence[str]) -> list[int]:
    """A reason that only opens, as `RuntimeError:` or `error: |-`, stands in what follows it."""
    after = dict(pairwise(i for i in body if texts[i].strip()))
    told: dict[int, None] = {}
    for i in reasons:
        told[i] = None
        last, left = i, _MAX_OPENED
        while left and last in after and _opens(texts[last], texts[after[last]]):
            last, left = after[last], left - 1
            told[last] = None
    return list(told)


def _opens(text: str, below: str) -> bool:
    return text.endswith((":", "|-")) and _indent(below) >= _indent(text)


def _is_detail(text: str) -> bool:
    return _DETAIL.match(text) is not None or _COMPARED.match(text) is not None


def _frames(body: list[int], texts: Sequence[str]) -> list[int]:
    """The project's own frames; the nearest stands first in some languages and last in others."""
    frames = [i for i in body if references(texts[i][:_MAX_CHARS])]
    own = [i for i in frames if not _LIBRARY.search(texts[i])] or frames
    return own if len(own) <= _MAX_FRAMES else [*own[: _MAX_FRAMES - 1], own[-1]]


def _indent(text: str) -> int:
    found = _PREFIX.match(text)
    return found.end() if found else 0


def _title(hit: Hit, texts: Sequence[str]) -> list[int]:
    if hit.rule.framework == "eslint":
        return [*_file_above(hit.index, texts), hit.index]
    # A mocha title goes on, ever deeper, until a line ends with a colon.
    if hit.rule.framework != "numbered" or texts[hit.index].endswith(":"):
        return [hit.index]
    depth = _indent(texts[hit.index])
    lines = [hit.index]
    for i in range(hit.index + 1, min(len(texts), hit.index + _MAX_TITLE_LINES)):
        text = texts[i]
        if not text or _indent(text) <= depth or _REASON.match(text):
            break
        lines.append(i)
        if text.endswith(":"):
            return lines
    return [hit.index]


def _file_above(index: int, texts: Sequence[str]) -> list[int]:
    for i in range(index - 1, max(-1, index - 1 - _MAX_LINES_ABOVE), -1):
        if not texts[i]:
            break
        if texts[i][0] not in " \t":
            return [i]
    return []


def _below(
    hit: Hit, last: int, texts: Sequence[str], numbers: Sequence[int], starts: set[int]
) -> list[int]:
    shape, depth = hit.rule.shape, _indent(texts[hit.index])
    body: list[int] = []
    blank = deeper = False
    for i in range(last + 1, min(len(texts), last + 1 + _MAX_LINES_BELOW[shape])):
        text = texts[i]
        if numbers[i] != numbers[i - 1] + 1 or i in starts or hit.rule.match(text):
            break
        if is_panic_of_test(i, texts):
            shape = "section"  # with its goroutines, to the verdict on the package
        if not text.strip():
            blank = True
            continue
        if _RULER.match(text) and 0 < len(body) <= _docstring_lines(hit):
            continue
        if _HEADING.match(text.lstrip()) and (body or shape in ("indent", "short")):
            break
        back = _indent(text) <= depth
        if shape == "trace" and deeper and back:
            return [*body, i]
        if shape == "indent" and back and (blank or deeper) and not _goes_on(text):
            break
        if shape == "short" and body and not _quoted(text, depth):
            break
        deeper = deeper or not back
        blank = False
        body.append(i)
    if hit.rule.kind in _SAYS_IT_ALONE and not deeper and not _any_goes_on(body, texts):
        return body[:_MAX_BESIDE]
    return body


def _any_goes_on(body: list[int], texts: Sequence[str]) -> bool:
    return any(_goes_on(texts[i][:_MAX_CHARS]) for i in body)


def _docstring_lines(hit: Hit) -> int:
    return _MAX_DOCSTRING_LINES if hit.rule.framework == "unittest" else 0


def is_panic_of_test(index: int, texts: Sequence[str]) -> bool:
    """Return whether a panic of Go follows the verdict on the test that it ended."""
    return (
        index > 0
        and texts[index].startswith("panic: ")
        and texts[index - 1].startswith("--- FAIL: ")
    )


def _goes_on(text: str) -> bool:
    return any(part.match(text) for part in (_REASON, _DETAIL, _PLACE, _COMPARED))


def _quoted(text: str, depth: int) -> bool:
    stripped = text.lstrip()
    return (
        _indent(text) > depth
        or stripped.startswith(("|", "^", "~", "-->", "=", "note:", "symbol:", "location:"))
        or stripped[:1].isdigit()
        or ": note: " in text
    )


def _above(index: int, texts: Sequence[str], numbers: Sequence[int]) -> list[int]:
    body: list[int] = []
    for i in range(index - 1, max(-1, index - 1 - _MAX_LINES_ABOVE), -1):
        if numbers[i + 1] != numbers[i] + 1 or _BEGINS.match(texts[i]):
            break
        if texts[i].strip():
            body.append(i)
    return body[::-1]
