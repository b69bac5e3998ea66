"""`cortex knowledge`: index what people wrote down, and find it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from cortex.runtime.kernel import Config, Home, NotFoundError, many, mask_for, open_blobs
from cortex.runtime.knowledge import Knowledge, KnowledgeError, Resolved
from cortex.runtime.retrieval import above_and_itself
from cortex.runtime.sessions import knowledge_roots, knowledge_topics

from ..options import question_of, with_any_home, with_home, with_screen
from ..screen import Screen
from ..tree import Family

SHOWN_LINES = 6  # of a passage
SHOWN_SCOPES = 12  # where none of them was meant


class IndexDocument(msgspec.Struct):
    """What an indexing did."""

    files: int
    passages: int
    changed: list[str]
    removed: list[str]
    notes: list[str]


class TopicRow(msgspec.Struct):
    """A topic and the file that it stands for."""

    topic: str
    scope: str
    path: str
    size_bytes: int


@click.group(cls=Family)
def knowledge() -> None:
    """Use knowledge: index it, find passages, list topics."""


@knowledge.command("index")
@with_home
@with_screen
def index_(home: Home, screen: Screen) -> None:
    """Update the index from the files.

    It reads only what changed. `cortex knowledge find` and the tool find_knowledge do this
    automatically; after a large change this command is faster. It names a file that it cannot
    index, and continues with the others.
    """
    with _opened(home) as opened:
        indexed = opened.update(keep=_keep_in(home))
        notes = opened.notes()
    screen.document(
        IndexDocument(
            indexed.files,
            indexed.chunks,
            [file.path for file in indexed.changed],
            list(indexed.removed),
            list(notes),
        )
    )
    screen.line(
        f"{many(indexed.files, 'file')}, {many(indexed.chunks, 'passage')}; new or changed: "
        f"{len(indexed.changed):,}, gone: {len(indexed.removed):,}"
    )
    for note in notes:
        screen.note(note, "yellow")


@knowledge.command()
@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=5, show_default=True)
@click.option("--under", multiple=True, metavar="TOPIC", help="Only this topic and those below it.")
@click.option("--why", is_flag=True, help="Show the parts of each score.")
@with_home
@with_screen
def find(
    words: tuple[str, ...],
    limit: int,
    under: tuple[str, ...],
    why: bool,
    home: Home,
    screen: Screen,
) -> None:
    """Find the passages that match TEXT best, best first.

    TEXT is ordinary words, or a question.
    """
    question = question_of(words)
    with _opened(home) as opened:
        opened.update(keep=_keep_in(home))
        _check_under(under, opened.topics() if under else ())
        found = opened.find(question, limit, under=under)
    screen.document(found)
    for note in found.notes:
        screen.note(note, "yellow")
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
@with_any_home
@with_screen
def list_(home: Home, screen: Screen) -> None:
    """List the topics that processes may declare, with the file of each.

    A file that cannot be read as text is named, and is not a topic.
    """
    rows: list[TopicRow] = []
    notes: list[str] = []
    topics = knowledge_topics(home)
    for topic in topics.topics():
        try:
            resolved = topics.resolve(topic)
            usable = isinstance(resolved, Resolved) and topics.read(resolved)
        except KnowledgeError as error:
            notes.append(str(error))
            continue
        if usable and isinstance(resolved, Resolved):
            rows.append(TopicRow(topic, resolved.scope, resolved.path, resolved.size_bytes))
    screen.document(rows)
    for note in notes:
        screen.note(note, "yellow")
    screen.table(
        ("topic", "scope", "bytes", "file"),
        ((row.topic, row.scope, f"{row.size_bytes:,}", row.path) for row in rows),
    )


@knowledge.command()
@with_home
@with_screen
def stats(home: Home, screen: Screen) -> None:
    """Show what the index contains: files by scope, passages, vectors, and what is not indexed."""
    with _opened(home) as opened:
        told = opened.statistics()
    screen.document(told)
    screen.line(f"index     {told.path}")
    screen.line(f"files     {told.files:,} with {many(told.text_bytes, 'byte')} of text")
    for scope, files in told.by_scope.items():
        screen.line(f"          {files:,} of the scope {scope}")
    screen.line(f"passages  {told.chunks:,}")
    screen.line(f"vectors   {told.vectors:,} by {told.embedder or 'no embedder'}")
    for note in told.notes:
        screen.note(note, "yellow")


def _why(parts: Mapping[str, float]) -> str:
    """The parts of a score: `said` is a factor, 1 where the question names no speaker."""
    summed = ", ".join(f"{name} {part:.2f}" for name, part in parts.items() if name != "said")
    factor = parts.get("said", 1.0)
    named = f"; x{factor:.2f}, said by whom the question names" if factor != 1.0 else ""
    return f"{summed}{named}"


def _check_under(under: tuple[str, ...], topics: tuple[str, ...]) -> None:
    standing = {above for topic in topics for above in above_and_itself(topic)}
    for wanted in under:
        if wanted not in standing:
            counts = Counter(topic.partition(".")[0] for topic in topics)
            files = (f"{name} ({n:,})" for name, n in counts.most_common(SHOWN_SCOPES))
            more = f" and {len(counts) - SHOWN_SCOPES:,} more" if len(counts) > SHOWN_SCOPES else ""
            hint = f"has no file in it or below it: there are {', '.join(files)}{more}"
            if not topics:
                hint = "has no file in it or below it: nothing is indexed"
            raise NotFoundError("topic", wanted, hint)


@contextmanager
def _opened(home: Home) -> Iterator[Knowledge]:
    home.check()
    opened = Knowledge.open(Path(home.path), knowledge_roots(home), Config.load(home).knowledge)
    try:
        yield opened
    finally:
        opened.close()


def _keep_in(home: Home) -> Callable[[bytes], str]:
    config = Config.load(home)
    return open_blobs(home, config, mask_for(config, home)).put
