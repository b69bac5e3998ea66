"""Submits sources to the compiler of a home's runtime, and refuses those that must not run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import Client
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, RefusedError
from cortex.runtime.processes import ProcessLoadError, gone, submit
from cortex.runtime.processes.catalog import Catalog
from cortex.runtime.serving import HomeHeldError

from ..ailments import listen
from ..errors import RejectedError
from ..open_home import opened_home
from .home_registry import moved
from .rejections import by_file, in_passing, refuse_older, standing, stands_in_the_way
from .sources import changed, source_at, sources_of, stage_of


class _Outcome(msgspec.Struct):
    """What became of the sources of a home."""

    rejected: list[RejectedError]
    texts: dict[str, str]  # of all sources, by file
    before: Catalog


class Submitter:
    """Compiles sources of one home through a client."""

    def __init__(
        self, home: Home, client: Client, history: History, note: Callable[[str], None]
    ) -> None:
        self._home, self._client, self._history = home, client, history
        self._note = note  # called with problems that stop nothing

    def changed(self, name: str = "") -> None:
        """Compile what is new among the sources of the home; say what was rejected.

        Raises:
            RejectedError: It was a source of the process *name*, whose older form must not run.
        """
        found = self._submit_changed()
        own = stands_in_the_way(name, found.rejected, found.texts, found.before) if name else None
        if own:
            raise own
        self._tell(found)

    def for_trigger(self, fields: Mapping[str, Any], version: int | None) -> None:
        """As `changed`, for a trigger with *fields*.

        Raises:
            RejectedError: It was a source of a process that answers it, whose older form must not
                run unless *version* names it.
            RefusedError: *version* is not the one that would run.
        """
        found = self._submit_changed()
        refuse_older(fields, version, found.rejected, found.texts, Catalog(self._history))
        self._tell(found)

    def file(self, path: Path) -> str:
        """Compile the source at *path*; the name of the process to run from it comes back.

        Raises:
            NotFoundError: There is no such file.
            RejectedError: It has errors.
            RefusedError: It holds no process, or several.
        """
        file, text = source_at(path)
        if changed({file: text}, Catalog(self._history)):
            for rejected in self._submit({file: text}):
                raise rejected
        compiled = [c.event for c in Catalog(self._history).compiled.values()]
        names = sorted({e.name for e in compiled if e.file == file and not e.abstract})
        if len(names) != 1:
            raise RefusedError(
                f"{file} has {', '.join(names) or 'no process that can be run'}: "
                "run a process by its name"
            )
        return names[0]

    def _submit_changed(self) -> _Outcome:
        Home.of_user().require_trust()  # its processes are compiled, too
        sources, catalog = sources_of(self._home), Catalog(self._history)
        for problem in sources.unreadable:
            self._note(str(problem))
        texts, left = changed(sources.texts, catalog), gone(sources, catalog.known)
        stands = None if left or moved(self._home, catalog) else standing(texts, catalog)
        rejected = self._submit(texts, left) if stands is None else stands
        return _Outcome(rejected, sources.texts, catalog)

    def _submit(self, texts: dict[str, str], removed: Iterable[str] = ()) -> list[RejectedError]:
        left = tuple(removed)
        try:
            submit(self._client, self._history.blobs, texts, removed=left)
        except ProcessLoadError as error:
            return by_file(error)
        return []

    def _tell(self, found: _Outcome) -> None:
        if found.rejected:
            self._note(in_passing(found.rejected, found.before))


@contextmanager
def compiled_history(home: Home, note: Callable[[str], None]) -> Iterator[History]:
    """The history of *home*, with its processes as the sources have them now.

    Where a source is new or changed, a runtime compiles it first; where another process runs one,
    or the home is not trusted, the history has what was compiled before. Where there is no home
    the library is compiled in one that is thrown away: to read makes none.
    """
    if not home.path.exists():
        with stage_of(home) as stage, _compiled(stage, note) as history:
            yield history
        return
    if home.as_of is None and not home.untrusted_because:
        home.open()
        _compile_stale(home, note)
    with History.open(home) as history:
        yield history


def _compile_stale(home: Home, note: Callable[[str], None]) -> None:
    with History.open(home) as history:
        catalog, sources = Catalog(history), sources_of(home)
        stale = changed(sources.texts, catalog) or gone(sources, catalog.known)
        if not stale and not moved(home, catalog):
            return
    try:
        with _compiled(home, note):
            pass
    except HomeHeldError as error:
        holder = "another process" if error.pid is None else f"process {error.pid}"
        note(
            f"sources have changed, but {holder} holds the home: shown is what was compiled before"
        )


@contextmanager
def _compiled(home: Home, note: Callable[[str], None]) -> Iterator[History]:
    listen()
    with opened_home(home) as opened:
        history = History(home, opened.log, opened.blobs, opened.client.vocabulary)
        Submitter(home, opened.client, history, note).changed()
        yield history
