"""`cortex projections`: the read models of a home; they can be folded again from its log."""

import click

from cortex.runtime.admin import projection_rows, rebuild_projections, verified_projections
from cortex.runtime.kernel import Home, many
from cortex.runtime.replay import projection_line

from ..exits import FAILED, OK
from ..options import at_home
from ..screen import Columns, Screen
from ..tree import Family

ROWS: Columns = {
    "projection": "name",
    "version": "version",
    "position": "position",
    "head": "head",
    "rows": "rows",
    "bytes": lambda row: "?" if row.size_bytes is None else f"{row.size_bytes:,}",
    "state": "state",
}
with_any_name = click.argument("name", required=False, default="")


@click.group(cls=Family)
def projections() -> None:
    """Show the projections of the log, and fold them again.

    A projection is a table that is folded from the log: a read model. It can be deleted at any
    time, because the log has everything.
    """


@projections.command("list")
@at_home
def list_(home: Home, screen: Screen) -> None:
    """Show name, version, checkpoint, rows and size of each projection.

    POSITION is its checkpoint: every event up to there is in its tables. HEAD is the end of the
    log.
    """
    screen.rows(projection_rows(home), ROWS)


@projections.command()
@with_any_name
@at_home
def rebuild(name: str, home: Home, screen: Screen) -> None:
    """Fold the projection NAME again from the log; without NAME, all.

    The new tables are built in a second file. Readers see the old ones until the new ones are
    complete; if the command is killed, the old ones stay. While a hub is up, end it first.
    """
    document = rebuild_projections(home, name)
    screen.document(document)
    if not document.rebuilt:
        screen.line("nothing was recorded yet")
        return
    names = ", ".join(document.rebuilt)
    screen.line(f"rebuilt {names} from {many(document.position, 'event')}")


@projections.command()
@with_any_name
@at_home
def verify(name: str, home: Home, screen: Screen) -> int:
    """Fold the projection NAME again, and compare it with its tables; without NAME, all.

    The comparison is by a digest of the rows. It does not depend on the order in which they were
    inserted. Nothing of the home is changed, and it works beside a hub.

    Ends with 1 if something differs.
    """
    found = verified_projections(home, name)
    screen.document(found)
    for each in found:
        screen.line(*projection_line(each))
    if not found:
        screen.line("nothing was projected yet")
    if any(each.differs for each in found):
        screen.line("different: `cortex projections rebuild` makes it again from the log", "red")
        return FAILED
    return OK
