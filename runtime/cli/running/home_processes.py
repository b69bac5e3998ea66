"""The processes of a home as its sources have them now, compiled first where they changed."""

from collections.abc import Iterator
from contextlib import contextmanager

from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.processes.catalog import Catalog
from cortex.runtime.serving import HomeHeldError
from cortex.runtime.sessions import changed, gone, moved, sources_of, stage_of

from ..screen import Screen
from .session import Session


@contextmanager
def open_shelf(home: Home, screen: Screen) -> Iterator[History]:
    """The history of *home*, up to date with its sources.

    Where a source is new or changed, a runtime compiles it first; where another process runs one,
    or the home is not trusted, what was compiled is shown. Where there is no home the library is
    compiled on a stage: to read makes none.
    """
    if not home.path.exists():
        with stage_of(home) as stage, Session.open(stage, screen) as session:
            session.submitter.changed()
            yield session.history
        return
    if home.untrusted_because:
        with History.open(home) as history:
            yield history
        return
    home.open()
    with History.open(home) as history:
        catalog = Catalog(history)
        sources = sources_of(home)
        stale = bool(changed(sources.texts, catalog) or gone(sources, catalog.known))
        stale = stale or moved(home, catalog)
        if not stale:
            yield history
            return
    try:
        with Session.open(home, screen) as session:
            session.submitter.changed()
    except HomeHeldError as error:
        holder = "another process" if error.pid is None else f"process {error.pid}"
        screen.note(
            f"sources have changed, but {holder} holds the home: shown is what was compiled before",
            "yellow",
        )
    with History.open(home) as history:
        yield history
