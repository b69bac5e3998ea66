"""`cortex memory`: record what was learned, and change it."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

import click

from cortex.bus.events import EdgeType, Kind, MemoryRecord
from cortex.runtime.admin import (
    ChangeDocument,
    consolidate_memory,
    correct_memory,
    edges_from,
    forget_memory,
    link_memories,
    pin_memory,
    record_memory,
    resolved_edges,
    restore_memory,
    undo_consolidation,
)
from cortex.runtime.kernel import Home, many
from cortex.runtime.memory import EDGES, KINDS, MOST_READ

from ..options import at_home, composed, question_of, with_options, with_subject, words
from ..screen import Screen
from ..tree import Family, Lazy

MOST_NS = (1 << 63) - 1  # of a time in an event: in the year 2262
Function = TypeVar("Function", bound=Callable[..., Any])

a_memory = click.argument("memory_id", metavar="ID")


def _edge(name: str, told: str) -> Callable[[Function], Function]:
    option = f"--{name.replace('_', '-')}"
    return click.option(option, name, multiple=True, metavar="ID", help=told)


with_edges = with_options(
    _edge("supersedes", "It replaces this memory."),
    _edge("refines", "It says this memory more exactly."),
    _edge("contradicts", "It says the opposite of this memory."),
    _edge("led_to", "It led to this memory."),
    _edge("caused_by", "It came of this memory."),
)


_LATER = {
    "after": Lazy(
        "memory_read:after",
        'Show what came of a memory, step by step: "what happened after ...?".',
    ),
    "consolidations": Lazy("memory_read:consolidations", "List consolidations, the newest first."),
    "constraints": Lazy(
        "memory_read:constraints_",
        "Show the decisions, corrections and preferences that apply to TEXT.",
    ),
    "inspect": Lazy(
        "memory_read:inspect",
        "Show the chain of the memory ID: what holds now, why, and what came of it.",
    ),
    "list": Lazy("memory_read:list_", "List memories, the newest first."),
    "search": Lazy(
        "memory_read:search", "Find the memories that have most to do with TEXT, best first."
    ),
    "why": Lazy("memory_read:why", 'Show what a memory rests on, step by step: "why did we ...?".'),
    "reword": Lazy("memory_reword:reword", "Write the summary ID in the words of a draft."),
    "blame": Lazy(
        "memory_view:blame_", "Show which memories informed an execution, and which were stale."
    ),
    "view": Lazy("memory_view:view", "Show what a step that asks TEXT would see."),
    "export": Lazy("memory_exchange:export", "Write what is in memory to FILE, as JSON Lines."),
    "import": Lazy("memory_exchange:import_", "Take the memory in FILE into this home."),
}


@click.group(cls=Family, later=_LATER)
def memory() -> None:
    """Keep what was learned, and show why it is believed.

    A memory is one statement with its origin. Edges join memories to chains: what replaced what,
    and what led to what. ID is the id of a memory, or a beginning that no other one has.

    A scope says who sees a memory: `user` everybody in this home, `project:NAME` work in a folder
    of that name, `process:NAME` steps of that process, `execution:ID` steps of that execution.
    """


@memory.command()
@click.argument("kind", type=click.Choice(KINDS))
@words
@click.option(
    "--scope",
    callback=composed,
    default="user",
    show_default=True,
    metavar="SCOPE",
    help="Who sees it.",
)
@click.option(
    "--confidence", type=click.FloatRange(0, 1), default=1.0, help="How sure it is [default: 1]."
)
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    help="Since when it is so, UTC; now unless given.",
)
@click.option("--entity", "entities", multiple=True, metavar="NAME", help="What it is about.")
@click.option("--source", default="", help="What it was taken from: an execution, a path, a URL.")
@click.option("--quote", default="", metavar="TEXT", help="The text there that says so.")
@with_edges
@click.option("--no-update", is_flag=True, help="Replace nothing that was not named.")
@with_subject
@at_home
def record(
    kind: Kind,
    words: tuple[str, ...],
    scope: str,
    confidence: float,
    since: datetime | None,
    entities: tuple[str, ...],
    source: str,
    quote: str,
    supersedes: tuple[str, ...],
    refines: tuple[str, ...],
    contradicts: tuple[str, ...],
    led_to: tuple[str, ...],
    caused_by: tuple[str, ...],
    no_update: bool,
    subject: str,
    home: Home,
    screen: Screen,
) -> None:
    """Record TEXT as a memory of this KIND.

    If the same was said before in the scope, the memory that exists gets one more source.
    """
    edges = edges_from(supersedes, refines, contradicts, led_to, caused_by)
    asked = MemoryRecord(
        kind=kind,
        content=question_of(words),
        scope=scope,
        subject=subject,
        origin="person",
        confidence=confidence,
        edges=resolved_edges(home, edges),
        entities=entities,
        happened_ns=_ns(since),
        source=source,
        quote=quote,
        update=not no_update,
    )
    _show(screen, record_memory(home, asked))


@memory.command()
@a_memory
@words
@with_subject
@at_home
def correct(
    memory_id: str, words: tuple[str, ...], subject: str, home: Home, screen: Screen
) -> None:
    """Put TEXT in the place of the memory ID, which was wrong or is no longer so."""
    _show(screen, correct_memory(home, memory_id, question_of(words), subject))


@memory.command()
@a_memory
@click.argument("edge", type=click.Choice(EDGES))
@click.argument("other", metavar="OTHER")
@at_home
def link(memory_id: str, edge: EdgeType, other: str, home: Home, screen: Screen) -> None:
    """Join the memory ID to the memory OTHER: `link A supersedes B`."""
    _show(screen, link_memories(home, memory_id, edge, other), f" {edge} {other}")


@memory.command()
@a_memory
@click.option("--release", is_flag=True, help="Pin it no longer.")
@at_home
def pin(memory_id: str, release: bool, home: Home, screen: Screen) -> None:
    """Pin the memory ID: its chain is never collected."""
    _show(screen, pin_memory(home, memory_id, pinned=not release))


@memory.command()
@a_memory
@click.option("--why", default="", help="Why, for the record.")
@at_home
def forget(memory_id: str, why: str, home: Home, screen: Screen) -> None:
    """Take the memory ID out of memory.

    Searches and prompts no longer find it; the log keeps it, and `restore` brings it back. To make
    what is recorded of a person unreadable for ever, use `cortex audit erase`.
    """
    _show(screen, forget_memory(home, memory_id, why))


@memory.command()
@a_memory
@at_home
def restore(memory_id: str, home: Home, screen: Screen) -> None:
    """Bring back the memory ID, which was forgotten or collected."""
    _show(screen, restore_memory(home, memory_id))


@memory.command()
@click.argument("consolidation_id", metavar="CONSOLIDATION")
@at_home
def undo(consolidation_id: str, home: Home, screen: Screen) -> None:
    """Take back all that one consolidation wrote."""
    _show(screen, undo_consolidation(home, consolidation_id))


@memory.command()
@click.option(
    "--scope",
    callback=composed,
    default="",
    metavar="SCOPE",
    help="Only this scope; all unless given.",
)
@click.option(
    "--most",
    type=click.IntRange(1, MOST_READ),
    default=1_000,
    show_default=True,
    help="How many memories it reads.",
)
@at_home
def consolidate(scope: str, most: int, home: Home, screen: Screen) -> None:
    """Write one memory for what was said again and again, which cites what it read.

    Long chains get a summary, and what executions did again and again is counted. It replaces and
    deletes nothing that was said, and asks no model. `undo` takes back what it wrote.
    """
    change = consolidate_memory(home, scope, most)
    screen.document(change)
    wrote = many(len(change.wrote), "memory", "memories")
    screen.line(f"consolidation {change.id} wrote {wrote}")
    screen.lines(f"  {each}" for each in change.wrote)
    screen.notes(change.because)


def _show(screen: Screen, change: ChangeDocument, more: str = "") -> None:
    screen.document(change)
    done: dict[str, str] = {
        "again": f"{change.id} says that already: it has one more source",
        "undone": f"undone: {many(len(change.replaced), 'memory', 'memories')} left memory",
    }
    screen.line(done.get(change.done, f"{change.done} {change.id}{more}"))
    if change.done != "undone":
        because: Sequence[str | Literal[""]] = change.because or [""] * len(change.replaced)
        for old, reason in zip(change.replaced, because, strict=False):
            screen.line(f"  in place of {old}{f': {reason}' if reason else ''}")


def _ns(moment: datetime | None) -> int:
    if moment is None:
        return 0
    given = int(moment.replace(tzinfo=UTC).timestamp()) * 10**9
    return max(-1, min(given, MOST_NS))  # what an event cannot hold is refused like its neighbours
