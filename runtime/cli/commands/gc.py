"""`cortex gc`: the collection of memory that nothing keeps."""

import click

from cortex.runtime.admin import collect_now, explain_node, gc_statistics
from cortex.runtime.kernel import Home, many

from ..options import at_home, with_limit, with_past
from ..screen import Columns, Screen
from ..tree import Family

GENERATIONS: Columns = {
    "generation": lambda row: str(row.generation),
    "memories": lambda row: f"{row.nodes:,}",
    "packages": lambda row: f"{row.packages:,}",
    "bytes": lambda row: f"{row.bytes:,}",
    "released": lambda row: f"{row.released:,}",
    "pinned": lambda row: f"{row.pinned:,}",
    "in use": lambda row: f"{row.roots:,}",
}
COLLECTIONS: Columns = {
    "time": "time",
    "generation": lambda row: str(row.generation),
    "collected": lambda row: f"{row.collected:,}",
    "promoted": lambda row: f"{row.promoted:,}",
    "kept": lambda row: f"{row.kept:,}",
    "slices": lambda row: f"{row.slices:,}",
    "longest": lambda row: f"{row.longest_us / 1000:.1f} ms",
}


@click.group(cls=Family)
def gc() -> None:
    """Collect memories and packages that nothing keeps. Show why others stay.

    What is collected leaves searches, prompts and `memory.db`. The log keeps it, and
    `cortex memory restore ID` brings a memory back; a package is compiled again.
    """


@gc.command()
@with_limit(10)
@at_home
@with_past
def stats(limit: int, home: Home, screen: Screen) -> None:
    """Show the generations of memory, and the newest collections."""
    document = gc_statistics(home, limit)
    screen.document(document)
    screen.rows(document.generations, GENERATIONS, known=True)
    screen.line()
    screen.rows(document.collections, COLLECTIONS, empty="there was no collection yet", known=True)


@gc.command("run")
@click.option(
    "--generation",
    type=click.IntRange(0, 2),
    default=2,
    show_default=True,
    help="The oldest generation that is looked through.",
)
@at_home
def run_(generation: int, home: Home, screen: Screen) -> None:
    """Collect now."""
    done = collect_now(home, generation)
    screen.document(done)
    gone = many(len(done.nodes), "memory", "memories")
    if done.packages:
        gone += f" and {many(len(done.packages), 'package')}"
    screen.line(f"collected {gone}; {done.kept:,} stay")
    ids = [*done.nodes, *(f"package {each}" for each in done.packages)]
    screen.lines(f"  {each}" for each in ids[:20])
    if len(ids) > 20:
        screen.line(f"  ... and {len(ids) - 20:,} more (--json lists all)")


@gc.command()
@click.argument("memory_id", metavar="ID")
@at_home
@with_past
def explain(memory_id: str, home: Home, screen: Screen) -> None:
    """Say why the memory or package ID stays, or why it went."""
    found = explain_node(home, memory_id)
    screen.document(found)
    screen.paragraph(found.said)
