"""Sources from disk: the one place where the compiler reads files."""

import os
from pathlib import Path

from cortex.runtime.retrieval import Walk, leads_to_itself

from .diagnostics import Diagnostic, SourceSpan
from .documents import MAX_SIZE_BYTES
from .nodes import Reporter

SUFFIXES = (".yaml", ".yml")
_START = SourceSpan(1, 1, 1, 1)


def read_source(path: Path, file: str) -> tuple[str | None, tuple[Diagnostic, ...]]:
    """Return the text of *path*, called *file* in diagnostics; None and why if it is not text."""
    reporter = Reporter(file)
    try:
        if not path.is_file():
            reporter.report("P014", "this is not a plain file", _START)
            return None, tuple(reporter.found)
        with path.open("rb") as source:
            content = source.read(MAX_SIZE_BYTES + 1)
    except OSError as error:
        reporter.report("P014", f"the file cannot be read: {error.strerror or error}", _START)
        return None, tuple(reporter.found)
    if len(content) > MAX_SIZE_BYTES:
        reporter.report("P001", f"the file has more than {MAX_SIZE_BYTES:,} bytes", _START)
        return None, tuple(reporter.found)
    try:
        return content.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        span = SourceSpan(line, 1, line, 1)
        reporter.report("P003", f"byte {error.start:,} is not UTF-8", span)
        return None, tuple(reporter.found)


def read_folder(folder: Path) -> tuple[dict[str, str], tuple[Diagnostic, ...]]:
    """Return the sources below *folder*, by path from there; hidden files are left out."""
    sources: dict[str, str] = {}
    diagnostics: list[Diagnostic] = []
    for entry, parts, is_folder in Walk(str(folder), counts=lambda name: name[0] != "."):
        looped = not is_folder and leads_to_itself(entry)
        if looped or (not is_folder and entry.name.endswith(SUFFIXES)):
            file = "/".join((*parts, entry.name))
            text, found = (
                _misnamed(file) or (looped and _looped(file)) or read_source(Path(entry.path), file)
            )
            diagnostics += found
            if text is not None:
                sources[file] = text
    return sources, tuple(diagnostics)


def _looped(file: str) -> tuple[None, tuple[Diagnostic, ...]]:
    reporter = Reporter(file)
    reporter.report("P014", "this is a link that leads to itself", _START, remedy="remove the link")
    return None, tuple(reporter.found)


def _misnamed(file: str) -> tuple[None, tuple[Diagnostic, ...]] | None:
    # What is no UTF-8 in a name is a surrogate, which no event, and no other file's one, can hold.
    shown = os.fsencode(file).decode(errors="backslashreplace")
    if shown == file:
        return None
    reporter = Reporter(shown)
    reporter.report("P003", "the name of the file is not UTF-8", _START, remedy="rename it")
    return None, tuple(reporter.found)
