"""`cortex memory`: search and list memories, and show why one is believed and what came of it."""

from collections.abc import Sequence

import click

from cortex.bus.events import Kind
from cortex.runtime.admin import (
    ChainDocument,
    ChainRow,
    MemoryDetails,
    MemoryList,
    MemoryRow,
    chain_document,
    consolidation_rows,
    constraints,
    list_memories,
    search_memory,
)
from cortex.runtime.kernel import Home, many
from cortex.runtime.memory import KINDS

from ..options import at_home, question_of, with_limit, with_past, with_scopes, words
from ..screen import Columns, Screen
from .memory_facts import show_facts

ROWS: Columns = {
    "id": "id",
    "since": lambda row: row.since[:10],
    "kind": "kind",
    "scope": "scope",
    "memory": "content",
}
STANDING: Columns = {**ROWS, "standing": "standing"}
CONSOLIDATIONS: Columns = {
    "id": "id",
    "time": "time",
    "scope": lambda row: row.scope or "all",
    "read": lambda row: f"{row.read:,}",
    "wrote": lambda row: f"{len(row.wrote):,}",
    "undone": lambda row: "undone" if row.undone else "",
}
a_memory = click.argument("memory_id", metavar="ID")
with_history = click.option("--history", is_flag=True, help="Show what was replaced, too.")


@click.command()
@with_limit(50)
@at_home
@with_past
def consolidations(limit: int, home: Home, screen: Screen) -> None:
    """List consolidations, the newest first."""
    screen.rows(consolidation_rows(home, limit), CONSOLIDATIONS, empty="there was none yet")


@click.command()
@words
@with_limit(10, 100)
@with_scopes
@with_history
@click.option("--why", is_flag=True, help="Show the parts of each score.")
@at_home
@with_past
def search(
    words: tuple[str, ...],
    limit: int,
    scopes: tuple[str, ...],
    history: bool,
    why: bool,
    home: Home,
    screen: Screen,
) -> None:
    """Find the memories that have most to do with TEXT, best first.

    What was replaced is left out; --history shows it below what replaced it. If several memories
    surely answer TEXT only together, the answer and the way to it come first. With --at, memories
    are found as they were then, by their words alone.
    """
    found = search_memory(home, question_of(words), scopes, history=history, limit=limit)
    screen.document(found)
    screen.notes(found.notes)
    show_facts(screen, found.chain)
    for row in found.memories:
        marks = [row.id, row.since[:10], row.kind, row.scope]
        marks += [] if row.standing == "current" else [row.standing]
        marks += [f"contradicted by {each}" for each in row.contradicted_by]
        marks += [f"overruled by {row.overruled_by}"] if row.overruled_by else []
        screen.line(f"{row.score:.2f}  {'  '.join(marks)}", "bold")
        screen.line(screen.cut(_in_one_line(row.content), 4))  # it must not look like another hit
        if why:
            parts = ", ".join(f"{name} {part:.2f}" for name, part in row.why.items())
            through = f"; by way of {row.through}" if row.through else ""
            screen.line(f"  {parts}{through}", "dim")
    if not found.memories:
        screen.line("nothing was found")


@click.command("list")
@with_limit(50)
@with_scopes
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this kind.")
@with_history
@click.option("--gone", is_flag=True, help="Show what left memory, too.")
@at_home
@with_past
def list_(
    limit: int,
    scopes: tuple[str, ...],
    kinds: tuple[Kind, ...],
    history: bool,
    gone: bool,
    home: Home,
    screen: Screen,
) -> None:
    """List memories, the newest first."""
    listed = list_memories(home, scopes, kinds, history=history, gone=gone, limit=limit)
    columns = STANDING if history or gone else ROWS
    if any(row.overruled_by for row in listed.memories):
        columns = {**columns, "overruled by": "overruled_by"}
    _list(screen, listed, columns)


@click.command()
@a_memory
@at_home
@with_past
def inspect(memory_id: str, home: Home, screen: Screen) -> None:
    """Show the chain of the memory ID: what holds now, why, and what came of it.

    Also where the memory itself comes from; and if it left, why.
    """
    chain = chain_document(home, memory_id)
    screen.document(chain)
    screen.line(f"chain {chain.id}: {many(len(chain.nodes), 'memory', 'memories')}", "bold")
    if not chain.whole:
        screen.note("the chain is longer than is shown", "yellow")
    by_id = {row.id: row for row in chain.nodes}
    for held in chain.current:
        said = screen.cut(_in_one_line(by_id[held].content))
        screen.line(f"holds  {held}  {said} ({chain.belief[held]:.2f})")
        if by_id[held].overruled_by:
            screen.line(f"       overruled by {by_id[held].overruled_by}", "yellow")
    for one, other in chain.contradictions:
        screen.line(f"{one} contradicts {other}: both hold", "yellow")
    if chain.asked is not None:
        _details(screen, chain.why[0].memory, chain.asked)
    _walk(screen, "why", chain.why)
    _walk(screen, "what came of it", chain.after)


@click.command()
@words
@at_home
@with_past
def why(words: tuple[str, ...], home: Home, screen: Screen) -> None:
    """Show what a memory rests on, step by step: "why did we ...?".

    TEXT is the id of a memory, or words: then it is the memory that fits them best.
    """
    chain = chain_document(home, question_of(words), words=True)
    screen.document(chain)
    _walk(screen, "", chain.why)
    _same(screen, chain)


@click.command()
@words
@at_home
@with_past
def after(words: tuple[str, ...], home: Home, screen: Screen) -> None:
    """Show what came of a memory, step by step: "what happened after ...?".

    TEXT is the id of a memory, or words: then it is the memory that fits them best.
    """
    chain = chain_document(home, question_of(words), words=True)
    screen.document(chain)
    _walk(screen, "", chain.after)
    _same(screen, chain)


@click.command("constraints")
@words
@with_limit(10, 100)
@with_scopes
@at_home
@with_past
def constraints_(
    words: tuple[str, ...], limit: int, scopes: tuple[str, ...], home: Home, screen: Screen
) -> None:
    """Show the decisions, corrections and preferences that apply to TEXT.

    The narrowest scope comes first. Some fit TEXT themselves, others are in the chain of a memory
    that does.
    """
    found = constraints(home, question_of(words), scopes, limit)
    screen.document(found)
    screen.notes(found.notes)
    for row in found.memories:
        through = f", by way of {row.through}" if row.through else ""
        overruled = f", overruled by {row.overruled_by}" if row.overruled_by else ""
        screen.line(f"{row.scope}  {row.kind} {row.id}{through}{overruled}", "bold")
        screen.line(screen.cut(_in_one_line(row.content), 4))  # it must not look like another hit
    if not found.memories:
        screen.line("nothing that was decided applies to it")


def _details(screen: Screen, memory: MemoryRow, asked: MemoryDetails) -> None:
    screen.line()
    screen.line(memory.id, "bold")
    screen.line(f"{memory.kind}, {memory.scope}, confidence {asked.confidence:.2f}")
    facts = [
        ("said by", f"{memory.by} ({asked.origin}), {memory.since[:10]}"),
        ("source", asked.source),
        ("quote", asked.quote),
        ("about", ", ".join(asked.entities)),
        *(("again", ", ".join(filter(None, (e["by"], e["source"])))) for e in asked.again),
        ("pinned", "its chain is never collected" if memory.pinned else ""),
        ("overruled", memory.overruled_by and f"by {memory.overruled_by}"),
        (asked.left, asked.left_by + (f": {asked.left_why}" if asked.left_why else "")),
    ]
    screen.lines(f"{name:<10} {screen.cut(_in_one_line(text))}" for name, text in facts if text)


def _same(screen: Screen, chain: ChainDocument) -> None:
    if chain.about_the_same:
        screen.line()
        screen.line("other executions about the same", "bold")
        screen.lines(
            f"{row.since[:10]}  {row.id}: {screen.cut(_in_one_line(row.content))}"
            for row in chain.about_the_same
        )


def _list(screen: Screen, listed: MemoryList, columns: Columns) -> None:
    screen.document(listed)
    screen.notes(listed.notes)
    empty = "there is no such memory: `cortex memory record` makes one"
    screen.rows(listed.memories, columns, empty=empty, known=True)


def _walk(screen: Screen, title: str, steps: Sequence[ChainRow]) -> None:
    if title:
        screen.line()
        screen.line(title, "bold")
    for step in steps:
        said = f"{step.said} " if step.said else ""
        marks = [step.memory.standing] if step.memory.standing != "current" else []
        marks += [f"overruled by {step.memory.overruled_by}"] if step.memory.overruled_by else []
        standing = f" ({', '.join(marks)})" if marks else ""
        text = f"{said}{step.memory.id}{standing}: {_in_one_line(step.memory.content)}"
        screen.line(f"{'  ' * step.depth}{screen.cut(text)}")


def _in_one_line(text: str) -> str:
    """*text*, of which no part passes for a line of another name."""
    return " ".join(text.split())
