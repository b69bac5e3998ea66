"""Sources of processes: those of a home, and a file by name."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from cortex.runtime.kernel import Home, NotFoundError, RefusedError
from cortex.runtime.processes import Sources, compile_sources, home_sources, parse, read_source
from cortex.runtime.processes.catalog import Catalog, Gates, gates_within

from ..errors import RejectedError
from .home_registry import symbols_of, topics_of

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


def gates_of_sources(home: Home) -> Gates:
    """The gates of each process that a hub on *home* would compile.

    Of one that does not compile it is not known which it has.

    Raises:
        ConfigError, ManifestError: As for `symbols_of`.
        RefusedError: A folder of sources cannot be read.
    """
    texts = sources_of(home).texts
    names = {each.name for file, text in texts.items() for each in parse(text, file).definitions}
    compiled = compile_sources(texts, symbols_of(home), topics_of(home))
    linked = compiled.processes
    named = sorted(names - compiled.interfaces.keys())
    return {name: gates_within(linked[name]) if name in linked else None for name in named}


@contextmanager
def stage_of(home: Home) -> Iterator[Home]:
    """A home for one dry run; the real one has to be trusted.

    Raises:
        UntrustedHomeError: It is not.
    """
    home.require_trust()
    with tempfile.TemporaryDirectory(prefix="cortex-") as folder:
        stage = Home(Path(folder).resolve() / ".cortex", stands_for=home).open()
        if home.config_path.exists():
            shutil.copy(home.config_path, stage.config_path)
        for own, staged in ((home.knowledge, stage.knowledge), (home.processes, stage.processes)):
            if own.is_dir():
                staged.rmdir()
                staged.symlink_to(own.absolute(), target_is_directory=True)
        yield stage
