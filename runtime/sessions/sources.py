"""Sources of processes: those of a home, and a file by name."""

from hashlib import sha256
from pathlib import Path

from cortex.runtime.kernel import Home, NotFoundError, RefusedError
from cortex.runtime.processes import Sources, home_sources, read_source
from cortex.runtime.processes.catalog import Catalog

from .errors import RejectedError

SUFFIXES = (".yaml", ".yml")


def sources_of(home: Home) -> Sources:
    """All sources that a home compiles, the shipped ones first.

    Raises:
        RefusedError: A folder of them cannot be read.
    """
    try:
        return home_sources(home)
    except OSError as error:
        raise RefusedError(
            f"{error.filename} cannot be read: {error.strerror}; check its mode"
        ) from error


def is_path(name: str) -> bool:
    """Whether *name* means a file rather than a process, whose name may have a `/`, too."""
    if name.endswith(SUFFIXES) or name.startswith((".", "/", "~")):
        return True
    return "/" in name and Path(name).is_file()


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
