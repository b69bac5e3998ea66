"""`cortex knowledge`: index written documents, and search them."""

from collections.abc import Mapping

import click

from cortex.runtime.admin import (
    find_knowledge,
    index_knowledge,
    knowledge_statistics,
    topic_rows,
)
from cortex.runtime.kernel import Home, many

from ..options import at_any_home, at_home, question_of, words
from ..screen import Columns, Screen
from ..tree import Family

SHOWN_LINES = 6  # of a passage
TOPICS: Columns = {"topic": "topic", "scope": "scope", "bytes": "size_bytes", "file": "path"}


@click.group(cls=Family)
def knowledge() -> None:
    """Use knowledge: index it, find passages, list topics."""


@knowledge.command("index")
@at_home
def index_(home: Home, screen: Screen) -> None:
    """Update the index from the files.

    It reads only what changed. `cortex knowledge find` and the tool find_knowledge do this
    automatically; after a large change this command is faster. It names a file that it cannot
    index, and continues with the others.
    """
    document = index_knowledge(home)
    screen.document(document)
    screen.line(
        f"{many(document.files, 'file')}, {many(document.passages, 'passage')}; new or changed: "
        f"{len(document.changed):,}, gone: {len(document.removed):,}"
    )
    screen.notes(document.notes)


@knowledge.command()
@words
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 100),
    help="How many at most; unless given, as many as 2,000 tokens hold.",
)
@click.option("--under", multiple=True, metavar="TOPIC", help="Only this topic and those below it.")
@click.option("--why", is_flag=True, help="Show the parts of each score.")
@at_home
def find(
    words: tuple[str, ...],
    limit: int | None,
    under: tuple[str, ...],
    why: bool,
    home: Home,
    screen: Screen,
) -> None:
    """Find the passages that match TEXT best, best first.

    TEXT is ordinary words, or a question.
    """
    found = find_knowledge(home, question_of(words), limit, under)
    screen.document(found)
    screen.notes(found.notes_and_caution())
    for passage in found.passages:
        place = f"{passage.topic or passage.path}:{passage.first_line}"
        heading = f"  {passage.heading}" if passage.heading else ""
        screen.line(f"{passage.score:.2f}  {place}{heading}", "bold")
        screen.block(screen.cut(passage.text.strip(), SHOWN_LINES))
        if why:
            screen.line(f"  {_why(passage.why)}", "dim")
    if not found.passages:
        screen.line("nothing was found")


@knowledge.command("list")
@at_any_home
def list_(home: Home, screen: Screen) -> None:
    """List the topics that processes may declare, with the file of each.

    A file that cannot be read as text is named, and is not a topic.
    """
    rows, notes = topic_rows(home)
    screen.notes(notes)
    screen.rows(rows, TOPICS)


@knowledge.command()
@at_home
def stats(home: Home, screen: Screen) -> None:
    """Show what the index contains: files by scope, passages, vectors, and what is not indexed."""
    told = knowledge_statistics(home)
    screen.document(told)
    screen.line(f"index     {told.path}")
    screen.line(f"files     {told.files:,} with {many(told.text_bytes, 'byte')} of text")
    screen.lines(
        f"          {files:,} of the scope {scope}" for scope, files in told.by_scope.items()
    )
    screen.line(f"passages  {told.chunks:,}")
    screen.line(f"vectors   {told.vectors:,} by {told.embedder or 'no embedder'}")
    screen.notes(told.notes)


def _why(parts: Mapping[str, float]) -> str:
    """The parts of a score: `said` is a factor, 1 where the question names no speaker."""
    summed = ", ".join(f"{name} {part:.2f}" for name, part in parts.items() if name != "said")
    factor = parts.get("said", 1.0)
    named = f"; x{factor:.2f}, by an author named in the question" if factor != 1.0 else ""
    return f"{summed}{named}"
