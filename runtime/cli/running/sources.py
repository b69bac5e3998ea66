"""Sources of processes: those that come with Cortex, the user's, the home's, and a file by name."""

from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from cortex.runtime.kernel import Home
from cortex.runtime.processes import Diagnostic, read_folder, read_source

from ..errors import NotFoundError, RefusedError, RejectedError
from ..reading import Catalog

LIBRARY = "cortex.actors.library"  # what comes with Cortex; by name, as components are
SUFFIXES = (".yaml", ".yml")


class Sources(msgspec.Struct):
    """Texts by the name that diagnostics give them, and what could not be read."""

    texts: dict[str, str] = {}
    unreadable: list[Diagnostic] = []
    prefixes: tuple[str, ...] = ()  # that names of files from these folders begin with


def sources_of(home: Home) -> Sources:
    """All sources that a home compiles, the shipped ones first."""
    found = Sources()
    with as_file(files(LIBRARY) / "processes") as library:
        _add(found, library, "library/")
    user = Home.of_user()
    if user != home:
        _add(found, user.processes, f"{user.processes}/")
    _add(found, home.processes, f"{home.own.processes}/")
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


def changed(sources: dict[str, str], catalog: Catalog) -> dict[str, str]:
    """Those of *sources* that the log does not have as they are."""
    return {
        file: text
        for file, text in sources.items()
        if catalog.sources.get(file) != sha256(text.encode()).hexdigest()
    }


def gone(sources: Sources, catalog: Catalog) -> list[str]:
    """Files of a home that were compiled and are no longer there."""
    unreadable = {problem.file for problem in sources.unreadable}
    return [
        file
        for file in catalog.sources
        if file.startswith(sources.prefixes)
        and file not in sources.texts
        and file not in unreadable
    ]


def _add(found: Sources, folder: Path, prefix: str) -> None:
    found.prefixes = (*found.prefixes, prefix)
    if not folder.is_dir():
        return
    try:
        texts, problems = read_folder(folder)
    except OSError as error:
        raise RefusedError(f"{folder} cannot be read: {error.strerror}; check its mode") from error
    found.texts |= {prefix + name: text for name, text in texts.items()}
    found.unreadable += [msgspec.structs.replace(p, file=prefix + p.file) for p in problems]
