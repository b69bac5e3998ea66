"""Reads places in files out of log lines: stack frames, diagnostics, plain mentions."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from .grammar import (
    ESLINT_FILE,
    ESLINT_ROW,
    RULES,
    SOURCE_EXTENSIONS,
    WORTH_A_LOOK,
    Kind,
)
from .traces import TraceCounter, conclusion, heading, is_handled, pytest_error

MAX_LINE_CHARS = 2_000  # a minified bundle on one line must not stall the regular expressions

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_STAMP = re.compile(r"^(?:\ufeff)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z ?")
_RUST_SEVERITY = re.compile(r"^(error|warning|note|help)\b.*?:\s*(.*)")
_RUST_FRAME = re.compile(r"^\s*\d+:\s+(?:0x[0-9a-f]+ - )?(?P<symbol>\S.*?)\s*$")
_GO_CALL = re.compile(
    r"^\s*(?:created by )?(?P<symbol>[\w./()*\[\]~-]+?)(?:\(.*\))?(?: in goroutine \d+)?$"
)
_GO_FAIL = re.compile(r"^\s*--- FAIL: (?P<symbol>\w+)")
_GO_PACKAGE = re.compile(r"^(?:FAIL|ok)\s+(?P<package>\S+/\S+)\s+(?:[\d.]+s|\[)")
_ENTERS = re.compile(
    r"^(?:g?make|ninja)(?:\[\d+\])?: (?P<verb>Entering|Leaving) directory [`'](?P<folder>.+)'"
)
_ABSOLUTE = re.compile(r"^(?:/|[A-Za-z]:[\\/]|\w+://)")
_POINTED = re.compile(r"^\s*(?:>|=>|->)\s*(?:\d+\s*[|:]\s?)?(?P<source>.*\S)")
_NUMBERED = re.compile(r"^\s*(?P<line>\d+)\s*\|\s?(?P<source>.*\S)")
_NOT_A_SOURCE = re.compile(r"^\s*(?:[\^~|-]+\s*$|File \"|at |E\s)")
_MILD: dict[str, Kind] = {"w": "warning", "warning": "warning", "note": "note", "info": "note"}


class Frame(Struct, frozen=True, kw_only=True):
    """One place in a file that a log line names."""

    path: str  # as logged
    line: int  # 1, 2, 3, ...
    column: int = 0  # 0 where the log gives none
    symbol: str = ""  # function, method or test, as logged
    package: str = ""  # JVM package or Go import path, where the path is a bare file name
    language: str = ""
    kind: Kind = "mention"
    at: int  # index of the log line, from 0
    trace: int = -1  # frames of one trace share it; -1 outside traces
    chain: int = -1  # traces that explain one another share it
    cause: int = 0  # 0 for the root cause of its chain, 1 for what wraps it, ...
    depth: int = 0  # 0 where the error was raised, 1 for its caller, ...
    source: str = ""  # the line of code that the log quotes
    message: str = ""  # what the log says happened


def parse_frames(lines: Iterable[str]) -> list[Frame]:
    """Return every place that *lines* name, in the order of the lines."""
    clean = [_STAMP.sub("", _ANSI.sub("", line.rstrip("\r\n")))[:MAX_LINE_CHARS] for line in lines]
    counter = TraceCounter()
    found: list[Frame] = []
    upwards: dict[int, bool] = {}
    eslint_file, folders = "", list[str]()
    for at, line in enumerate(clean):
        counter.see(line)
        frame = _read(clean, at, eslint_file)
        if frame is None:
            _follow_make(line, folders)
            if not line.strip() or ESLINT_FILE.match(line):
                eslint_file = line.strip()
            continue
        if folders and not _ABSOLUTE.match(frame.path):
            frame = replace(frame, path=f"{folders[-1]}/{frame.path}")
        if frame.kind == "trace":
            frame = replace(frame, trace=counter.place(at, frame.language))
            upwards.setdefault(frame.trace, counter.is_upwards(frame.language))
        found.append(frame)
    return _finish(found, counter.chains(), upwards, clean)


def _follow_make(line: str, folders: list[str]) -> None:
    match = _ENTERS.match(line)
    if match and match["verb"] == "Entering":
        folders.append(match["folder"])
    elif match and folders:
        folders.pop()


def _read(lines: Sequence[str], at: int, eslint_file: str) -> Frame | None:
    line = lines[at]
    if not WORTH_A_LOOK.search(line):
        return None
    row = ESLINT_ROW.match(line) if eslint_file else None
    if row:
        return _frame(row, "javascript", "error", at, path=eslint_file)
    for language, kind, pattern in RULES:
        match = pattern.search(line)
        if match and _is_credible(match, language, kind):
            return _complete(_frame(match, language, kind, at), lines)
    return None


def _is_credible(match: re.Match[str], language: str, kind: Kind) -> bool:
    groups = match.groupdict()
    path = groups.get("path") or ""
    if groups["line"] == "0" or len(groups["line"]) > 7:
        return False
    if language:
        return True
    return path.rpartition(".")[2].lower() in SOURCE_EXTENSIONS and (
        kind != "mention" or not path.startswith("//")
    )


def _frame(match: re.Match[str], language: str, kind: Kind, at: int, path: str = "") -> Frame:
    groups = match.groupdict()
    symbol = (groups.get("symbol") or "").strip()
    path = path or groups.get("path") or _jvm_file(symbol)
    severity = (groups.get("sev") or "").lower()
    if severity:
        kind = _MILD.get(severity, "error")
    return Frame(
        path=path,
        line=int(groups["line"]),
        column=int(groups.get("col") or 0),
        symbol=symbol,
        language=language or path.rpartition(".")[2].lower(),
        kind=kind,
        at=at,
        message=(groups.get("message") or "").strip(" :"),
    )


def _jvm_file(symbol: str) -> str:
    """Return the file of a test that surefire names as `CartTest.total`."""
    parts = symbol.split(".")
    return f"{(parts[-2] if len(parts) > 1 else symbol).split('$')[0]}.java"


def _complete(frame: Frame, lines: Sequence[str]) -> Frame:
    """Add what the neighbouring lines say about a frame."""
    before = lines[frame.at - 1] if frame.at else ""
    if frame.language == "go" and frame.kind == "trace":
        call = _GO_CALL.match(before)
        frame = replace(frame, symbol=call["symbol"] if call else "")
    elif frame.language == "go":
        test, package = _go_test(lines, frame.at)
        frame = replace(frame, symbol=test, package=package)
    elif frame.language == "java" and frame.kind == "trace":
        frame = replace(frame, package=".".join(frame.symbol.split(".")[:-2]))
    elif frame.language == "rust" and frame.kind == "trace" and not frame.symbol:
        named = _RUST_FRAME.match(before)
        frame = replace(frame, symbol=named["symbol"] if named else "")
    elif frame.language == "rust" and frame.kind == "error":
        said = _RUST_SEVERITY.match(before)
        if said and said[1] != "error":
            frame = replace(frame, kind="warning" if said[1] == "warning" else "note")
        frame = replace(frame, message=said[2] if said else "")
    return replace(frame, source=_quoted(frame, lines))


def _go_test(lines: Sequence[str], at: int) -> tuple[str, str]:
    """Return the failing test above a line of `go test` and the package that is named below it."""
    above = (_GO_FAIL.match(line) for line in reversed(lines[max(0, at - 40) : at]))
    below = (_GO_PACKAGE.match(line) for line in lines[at : at + 400])
    test = next((match["symbol"] for match in above if match), "")
    return test, next((match["package"] for match in below if match), "")


def _quoted(frame: Frame, lines: Sequence[str]) -> str:
    """Return the line of code that the log shows with a frame, or an empty string."""
    after = lines[frame.at + 1] if frame.at + 1 < len(lines) else ""
    if frame.language == "python" and "File " in lines[frame.at]:
        return (
            ""
            if _NOT_A_SOURCE.match(after) or not after.startswith((" ", "|"))
            else after.strip(" |")
        )
    if frame.language == "python" and ": in " in lines[frame.at]:
        return after.strip() if after.startswith("    ") else ""
    if frame.language == "python" and frame.kind == "trace":
        return _pointed_above(lines, frame.at)
    for line in lines[frame.at + 1 : frame.at + 5]:
        match = _NUMBERED.match(line)
        if match and int(match["line"]) == frame.line:
            return match["source"].strip()
    return ""


def _pointed_above(lines: Sequence[str], at: int) -> str:
    """Return the line that pytest marks with `>` above the place it names."""
    for line in reversed(lines[max(0, at - 60) : at]):
        if line.startswith(">"):
            match = _POINTED.match(line)
            return match["source"].strip() if match else ""
        if line.startswith("_ _ _"):
            return ""
    return ""


def _finish(
    found: list[Frame], chains: list[tuple[int, int]], upwards: dict[int, bool], lines: list[str]
) -> list[Frame]:
    """Number depths, name causes and quote the exception of each trace."""
    members: dict[int, list[int]] = {}
    for index, frame in enumerate(found):
        if frame.kind == "trace":
            members.setdefault(frame.trace, []).append(index)
    for trace, indexes in members.items():
        chain, cause = chains[trace]
        message, kind = _outcome([found[i] for i in indexes], upwards[trace], lines)
        ordered = reversed(indexes) if upwards[trace] else iter(indexes)
        for depth, index in enumerate(ordered):
            found[index] = replace(
                found[index], chain=chain, cause=cause, depth=depth, message=message, kind=kind
            )
    return found


def _outcome(frames: list[Frame], upwards: bool, lines: list[str]) -> tuple[str, Kind]:
    first, last = frames[0].at, frames[-1].at
    said = next((f.message for f in frames if f.message), "")
    if frames[0].language == "python":
        said = pytest_error(lines, first, last) or said or conclusion(lines, last)
    said = said or heading(lines, first)
    begins = max(0, first - 1) if upwards else first
    return said[:200], "warning" if is_handled(lines, begins) else "trace"
