"""The sources that a home compiles: those that come with Cortex, the user's, and its own."""

import os
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from cortex.bus import Client
from cortex.bus.events import ProcessAnswer, ProcessList, ProcessRejected
from cortex.runtime.kernel import Home
from cortex.runtime.log import Blobs
from cortex.runtime.retrieval import Walk, leads_to_itself

from ..diagnostics.diagnostics import Diagnostic, SourceSpan
from ..diagnostics.errors import ProcessLoadError
from ..syntax.nodes import MAX_SIZE_BYTES, Reporter
from .shipped import SHIPPED
from .submitting import submit

SUFFIXES = (".yaml", ".yml")
_START = SourceSpan(1, 1, 1, 1)
LIBRARY = "cortex.actors.library"  # ships with Cortex; by name, as components are


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


class Sources(msgspec.Struct):
    """Texts by the name that diagnostics give them, and what could not be read."""

    texts: dict[str, str] = {}
    unreadable: list[Diagnostic] = []
    prefixes: tuple[str, ...] = ()  # that names of files from these folders begin with


def folders_of(home: Home) -> dict[str, Path]:
    """The folders whose sources *home* compiles beside the library, by the prefix of their files.

    Both are what a user may write into at any time.
    """
    user = Home.of_user()
    homes = [home] if user == home else [user, home]
    return {f"{each.own.processes}/": each.processes for each in homes}


def sources_of(home: Home) -> Sources:
    """All sources that a home compiles, the shipped ones first.

    Raises:
        OSError: A folder cannot be read.
    """
    found = Sources()
    with as_file(files(LIBRARY) / "processes") as library:
        _add(found, library, SHIPPED)
    for prefix, folder in folders_of(home).items():
        _add(found, folder, prefix)
    return found


def gone(sources: Sources, known: Mapping[str, str]) -> list[str]:
    """Those of the *known* files, each with the digest of its text, that are no longer there.

    A home may have been moved or copied: what is known of a file at its place before gives way to
    the file of the same name and text that is here now. Else each version would be defined twice.
    """
    unreadable = {problem.file for problem in sources.unreadable}
    here = {(Path(file).name, _digest(text)) for file, text in sources.texts.items()}
    return [
        file
        for file, digest in known.items()
        if file not in sources.texts
        and file not in unreadable
        and (file.startswith(sources.prefixes) or (Path(file).name, digest) in here)
    ]


def compile_home(
    home: Home, client: Client, blobs: Blobs, *, relink: bool = False
) -> list[Diagnostic]:
    """Compile the changed sources of *home* into the process table.

    An unchanged file is not submitted again, even if it was rejected: the compiler itself retries
    it when a missing name may have appeared.

    Args:
        home: Owner of the sources.
        client: A client of the compiling runtime.
        blobs: Of the same runtime.
        relink: Whether to check topics, too, if no source changed: they may have been written while
            nothing watched them.

    Returns:
        The diagnostics of the changed files.

    Raises:
        UntrustedHomeError: The user has not trusted this home, or their own.
        AskTimeoutError: The compiler did not answer in time.
        OSError: A folder cannot be read.
    """
    home.require_trust()
    Home.of_user().require_trust()  # its processes are compiled, too
    sources = sources_of(home)
    answer = client.ask(ProcessList(sources=True))
    if not isinstance(answer, ProcessAnswer):
        return []
    before = {**answer.sources, **answer.rejected}
    # By the digest that the blob gets: what is secret in a text is not in the blob.
    texts = {f: text for f, text in sources.texts.items() if before.get(f) != _put(blobs, text)}
    found = [each for each in sources.unreadable if answer.rejected.get(each.file) != ""]
    if found:
        client.publish(*(_rejected(each) for each in found))
    removed = gone(sources, before)
    if texts or removed or relink:
        try:
            submit(client, blobs, texts, removed=removed)
        except ProcessLoadError as error:
            found += error.diagnostics
    return found


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _put(blobs: Blobs, text: str) -> str:
    return blobs.put(text.encode())


def _rejected(problem: Diagnostic) -> ProcessRejected:
    diagnostic = msgspec.json.decode(msgspec.json.encode(problem))
    return ProcessRejected(file=problem.file, diagnostics=(diagnostic,))


def _add(found: Sources, folder: Path, prefix: str) -> None:
    found.prefixes = (*found.prefixes, prefix)
    if not folder.is_dir():
        return
    texts, problems = read_folder(folder)
    found.texts |= {prefix + name: text for name, text in texts.items()}
    found.unreadable += [msgspec.structs.replace(p, file=prefix + p.file) for p in problems]
