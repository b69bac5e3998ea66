"""The processes of a home as its sources have them now, compiled first where they changed."""

from collections.abc import Iterator
from contextlib import contextmanager

from cortex.runtime.kernel import Home
from cortex.runtime.log import LogHeldError

from .catalog import Catalog
from .history import History
from .screen import Screen
from .sources import changed, gone, sources_of


@contextmanager
def open_shelf(home: Home, screen: Screen) -> Iterator[History]:
    """The history of *home*, up to date with its sources.

    Where a source is new or changed, a runtime compiles it first; where another process runs one,
    what it has compiled is shown.
    """
    home.open()
    with History.open(home) as history:
        catalog = Catalog(history)
        sources = sources_of(home)
        stale = bool(changed(sources.texts, catalog) or gone(sources, catalog))
        if not stale:
            yield history
            return
    # Here, not at the top: a runtime takes half a second to import, and is rarely needed.
    from .station import Station

    try:
        with Station.open(home, screen) as station:
            station.submit_changed()
    except LogHeldError as error:
        screen.note(f"{error}; shown is what it has compiled", "yellow")
    with History.open(home) as history:
        yield history
