"""Raw log text in, the lines a reader would see out: no colours, no stamps, no overwriting."""

import re

MAX_LINE_CHARS = 2_000  # what is kept of one line; more is data, not a message
_CUT = "…"  # the last character of a line that was longer

_ESCAPE = re.compile(
    r"[\x1b\u241b](?:"
    r"\[[0-9;:?]{0,64}[ -/]{0,4}[@-~]"  # colours, cursor
    r"|\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # titles and links
    r"|[_P^X][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # Buildkite's stamps
    r"|[()][A-Z0-9]"
    r"|[@-Z\\^_=>a-z78]"
    r")"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe]+")
_ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
_STAMP = re.compile(
    rf"^(?:{_ISO}(?: \d\d[OE][ +])? ?"  # GitHub, Azure, GitLab
    rf"|\[(?:task )?{_ISO}\] ?(?:\d\d:\d\d:\d\d +(?:(?:INFO|DEBUG) - ?)?)?"  # Taskcluster, Jenkins
    r"|\d\d:\d\d:\d\d +(?:INFO - )?(?=(?:INFO|DEBUG|WARNING|ERROR|CRITICAL|FATAL|TEST-"
    r"|REFTEST) ?-?)"
    r")",
    re.MULTILINE,
)
_COLUMNS = re.compile(
    rf"^[^\t\n]{{1,200}}\t[^\t\n]{{1,200}}\t(?={_ISO})", re.MULTILINE
)  # gh run view --log
_WORTH_KEEPING = re.compile(r"error|fail|fatal|exception|panic", re.IGNORECASE)
_MAX_OVERWRITTEN = 3


def clean(text: str) -> str:
    """Return *text* without escape codes, control characters and stamps of a CI service.

    Line feeds stay where they are, so that line numbers stay those of the original.
    """
    if "\x1b" in text or "\u241b" in text:
        text = _ESCAPE.sub("", text)
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    text = _CONTROL.sub("", text)
    if "\t2" in text:
        text = _COLUMNS.sub("", text)
    return _STAMP.sub("", text) if ":" in text else text


def split(text: str) -> list[str]:
    """Return the lines of a cleaned *text*, each as it stood when the next one began.

    One that is longer than `MAX_LINE_CHARS` is cut, and its last character says so.
    """
    lines = text.split("\n")
    if "\r" in text:
        lines = [_settled(line) if "\r" in line else line for line in lines]
    if max(map(len, lines)) > MAX_LINE_CHARS:
        lines = [_bounded(line) for line in lines]
    return list(map(str.rstrip, lines))


def _bounded(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1] + _CUT


def _settled(line: str) -> str:
    # A terminal shows what was written last, but an error that was overwritten is still news.
    parts = [part for part in (p.strip() for p in line.split("\r")) if part]
    if not parts:
        return ""
    spoken = [part for part in parts[:-1] if _WORTH_KEEPING.search(part[:MAX_LINE_CHARS])]
    last = _STAMP.sub("", parts[-1])
    return " ".join(dict.fromkeys([*spoken[-_MAX_OVERWRITTEN:], last]))
