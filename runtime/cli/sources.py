"""Sources of processes: those that come with Cortex, the user's, the home's, and a file by name."""

from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from cortex.bus import CortexError
from cortex.bus.events import ProcessRejected, ProcessSubmit
from cortex.runtime.kernel import Home
from cortex.runtime.processes import Diagnostic, read_folder, read_source

from .errors import NotFoundError, RejectedError
from .history import History

LIBRARY = "library"  # what comes with Cortex, in the room of the processes
SUFFIXES = (".yaml", ".yml")


class Sources(msgspec.Struct):
    """Texts by the name that diagnostics give them, and what could not be read."""

    texts: dict[str, str]
    unreadable: list[Diagnostic]


def sources_of(home: Home) -> Sources:
    """All sources that a home compiles, the shipped ones first."""
    found = Sources({}, [])
    with as_file(files("cortex.runtime.processes") / LIBRARY) as library:
        _add(found, library, "library/")
    user = Home.of_user()
    if user != home:
        _add(found, user.processes, f"{user.processes}/")
    _add(found, home.processes, f"{home.processes}/")
    return found


def is_path(name: str) -> bool:
    """Whether *name* means a file rather than a process."""
    return name.endswith(SUFFIXES) or "/" in name


def source_at(path: Path) -> tuple[str, str]:
    """Name and text of the source at *path*.

    Raises:
        NotFoundError: There is no such file.
        RejectedError: It is not text.
    """
    if not path.exists():
        raise NotFoundError("file", str(path), "is not there: check the path")
    file = str(path.absolute())
    text, problems = read_source(path, file)
    if text is None:
        raise RejectedError(file, str(problems[0]), len(problems))
    return file, text


def is_submitted(history: History, file: str, text: str) -> bool:
    """Whether the log has *text* as the newest of *file*, and it was not rejected."""
    newest = ""
    for record in history.stream(f"source/{file}"):
        event = history.event(record)
        if isinstance(event, ProcessSubmit):
            newest = event.text
        elif isinstance(event, ProcessRejected):
            newest = ""  # what was missing then may be there now
    return newest == text


def first_problem(event: ProcessRejected) -> RejectedError:
    """The rejection as an error that names the first thing to correct."""
    found = event.diagnostics
    try:
        errors = [msgspec.convert(each, Diagnostic) for each in found]
    except msgspec.ValidationError:
        return RejectedError(event.file, f"{event.file} was rejected", len(found))
    first = next((each for each in errors if each.severity == "error"), None)
    return RejectedError(event.file, str(first or f"{event.file} was rejected"), len(found))


def _add(found: Sources, folder: Path, prefix: str) -> None:
    if not folder.is_dir():
        return
    try:
        texts, problems = read_folder(folder)
    except OSError as error:
        raise CortexError(f"{folder} cannot be read: {error.strerror}; check its mode") from error
    found.texts |= {prefix + name: text for name, text in texts.items()}
    found.unreadable += [msgspec.structs.replace(p, file=prefix + p.file) for p in problems]
