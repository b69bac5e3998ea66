"""The knowledge of a home: its index, searches, and the topics of its files."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from cortex.runtime.kernel import Config, Home, NotFoundError, mask_for, open_blobs
from cortex.runtime.knowledge import Knowledge, KnowledgeError, Resolved, Statistics
from cortex.runtime.retrieval import SearchResult, above_and_itself
from cortex.runtime.sessions import knowledge_roots, knowledge_topics

SHOWN_SCOPES = 12  # where none of them was meant


class IndexDocument(msgspec.Struct):
    """What an indexing did."""

    files: int
    passages: int
    changed: list[str]
    removed: list[str]
    notes: list[str]


class TopicRow(msgspec.Struct):
    """A topic and its file."""

    topic: str
    scope: str
    path: str
    size_bytes: int


def index_knowledge(home: Home) -> IndexDocument:
    """Bring the index of *home* up to date with its files; only what changed is read."""
    with _opened(home) as opened:
        indexed = opened.update(keep=_keep_in(home))
        changed = [file.path for file in indexed.changed]
        removed, notes = list(indexed.removed), list(opened.notes())
    return IndexDocument(indexed.files, indexed.chunks, changed, removed, notes)


def find_knowledge(
    home: Home, question: str, limit: int | None = None, under: tuple[str, ...] = ()
) -> SearchResult:
    """The passages that fit *question* best, under these topics alone; *limit*, or the usual.

    Raises:
        NotFoundError: One of *under* has no file in it or below it.
    """
    with _opened(home) as opened:
        opened.update(keep=_keep_in(home))
        _check_under(under, opened.topics() if under else ())
        if limit is None:
            return opened.find(question, under=under)
        return opened.find(question, limit, under=under, tokens=None)


def knowledge_statistics(home: Home) -> Statistics:
    """What the index of *home* contains."""
    with _opened(home) as opened:
        return opened.statistics()


def topic_rows(home: Home) -> tuple[list[TopicRow], list[str]]:
    """The topics that processes may declare, and why others cannot be used."""
    rows: list[TopicRow] = []
    notes: list[str] = []
    topics = knowledge_topics(home)
    for topic in topics.topics():
        try:
            resolved = topics.resolve(topic)
            if isinstance(resolved, Resolved) and topics.read(resolved):
                row = TopicRow(topic, resolved.scope, resolved.path, resolved.size_bytes)
                rows.append(row)
        except KnowledgeError as error:
            notes.append(str(error))
    return rows, notes


def _check_under(under: tuple[str, ...], topics: Sequence[str]) -> None:
    standing = {above for topic in topics for above in above_and_itself(topic)}
    for wanted in under:
        if wanted not in standing:
            counts = Counter(topic.partition(".")[0] for topic in topics)
            files = (f"{name} ({n:,})" for name, n in counts.most_common(SHOWN_SCOPES))
            more = f" and {len(counts) - SHOWN_SCOPES:,} more" if len(counts) > SHOWN_SCOPES else ""
            there = f"there are {', '.join(files)}{more}" if topics else "nothing is indexed"
            hint = f"has no file in it or below it: {there}"
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
