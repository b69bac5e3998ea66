"""The sources that a home compiles: those that come with Cortex, the user's, and its own."""

from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from cortex.bus import Client
from cortex.bus.events import ProcessAnswer, ProcessList, ProcessRejected
from cortex.runtime.kernel import Home
from cortex.runtime.log import Blobs

from .diagnostics import Diagnostic
from .errors import ProcessLoadError
from .load import read_folder
from .shipped import SHIPPED
from .submitting import submit

LIBRARY = "cortex.actors.library"  # what comes with Cortex; by name, as components are


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
    """Enter in the process table what changed among the sources of *home*.

    A file that was submitted before as it is now is not submitted again, whatever came of that:
    the compiler itself tries a rejected one again when something comes that it may lack.

    Args:
        home: Whose sources.
        client: Of the runtime that compiles.
        blobs: Of the same runtime.
        relink: Whether to have topics looked at, too, where no source changed: they may have been
            written while nothing watched them.

    Returns:
        What is wrong with the files that changed.

    Raises:
        UntrustedHomeError: The user has not trusted this home, or their own.
        AskTimeoutError: The compiler said nothing in time.
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
