"""The tool that looks into the knowledge of the home and of the library."""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from cortex.bus import Event
from cortex.bus.events import KnowledgeRequested, ToolCall
from cortex.runtime.context import Bm25, content_words
from cortex.runtime.kernel import Component, Delivery, Home, on
from cortex.runtime.knowledge import (
    KnowledgeError,
    Resolved,
    Root,
    TopicIndex,
    roots_of_home,
)
from cortex.runtime.log import Blobs

from ..library import library_knowledge
from .carrying import Told, carry_out
from .declaring import tool
from .errors import ToolError
from .windows import lines_of

PROVIDER = "knowledge"
PASSAGES = 5  # that are given
PASSAGE_LINES = 30
READ_BYTES = 32 << 20  # of all topics together; the rest is named only
LONGEST_QUERY = 1_000  # characters


class FindKnowledge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `find_knowledge` takes."""

    query: Annotated[
        str, Meta(description="what is wanted, in a few words; or a topic, to read all of it")
    ]


class Passage(NamedTuple):
    """Some lines of a topic."""

    topic: str
    first_line: int
    lines: list[str]


class KnowledgeTools(Component):
    """Finds passages of knowledge by the words of a question."""

    workers = 1
    serves = (
        tool(
            "find_knowledge",
            FindKnowledge,
            provider=PROVIDER,
            effect="read",
            description="Find passages in the knowledge that people wrote down, with their topics.",
        ),
    )

    def __init__(self, home: Home | None, blobs: Blobs) -> None:
        roots = [*(roots_of_home(home.path) if home else ())]
        self._index = TopicIndex([*roots, Root(str(library_knowledge()), "library")])
        self._blobs = blobs

    @on(ToolCall, where={"provider": PROVIDER})
    def call(self, event: ToolCall, delivery: Delivery) -> Iterator[Event]:
        """Use it."""
        yield from carry_out(self, event, delivery, self._blobs)

    def find_knowledge(self, asked: FindKnowledge, event: ToolCall, delivery: Delivery) -> Told:
        """The passages that fit best, or all of one topic."""
        query = asked.query.strip()
        if not query or len(query) > LONGEST_QUERY:
            problem = f"a query has 1 to {LONGEST_QUERY:,} characters"
            raise ToolError(problem, "wrong_arguments")
        topics = self._index.topics()
        if query in topics:
            found = [Passage(query, 1, lines_of(self._read(query)))]
        else:
            found = best_passages(query, list(self._passages(topics)))
        requested = KnowledgeRequested(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            turn=event.turn,
            call_id=event.call_id,
            query=query,
            topics=tuple(dict.fromkeys(passage.topic for passage in found)),
        )
        summary = f"{len(found)} passages for {query}"
        return Told(_shown(found, query), summary, events=(requested,))

    def _passages(self, topics: tuple[str, ...]) -> Iterator[Passage]:
        left = READ_BYTES
        for topic in topics:
            text = self._read(topic) if left > 0 else ""
            left -= len(text)
            yield from passages_of(topic, text)

    def _read(self, topic: str) -> str:
        try:
            resolved = self._index.resolve(topic)
            return self._index.read(resolved).text if isinstance(resolved, Resolved) else ""
        except KnowledgeError:
            return ""  # a file that cannot be used is told where a process declares it


def passages_of(topic: str, text: str) -> Iterator[Passage]:
    """A text in parts: one begins at a heading, and where the one before is long enough."""
    lines = lines_of(text)
    start = 0
    for at in range(1, len(lines) + 1):
        ends = at == len(lines) or lines[at].startswith("#")
        blank = at < len(lines) and not lines[at].strip()
        if ends or at - start >= PASSAGE_LINES or (blank and at - start >= PASSAGE_LINES // 2):
            if any(line.strip() and not line.startswith("#") for line in lines[start:at]):
                yield Passage(topic, start + 1, lines[start:at])
            start = at


def best_passages(query: str, passages: list[Passage]) -> list[Passage]:
    """Those that have most to do with *query*, best first."""
    texts = [content_words(f"{p.topic} " + "\n".join(p.lines)) for p in passages]
    scores = Bm25(texts, content_words(query)).scores
    ranked = sorted(range(len(passages)), key=lambda at: (-scores[at], at))
    return [passages[at] for at in ranked[:PASSAGES] if scores[at] > 0]


def _shown(passages: list[Passage], query: str) -> str:
    if not passages:
        return f"nothing is known about {query!r}\n"
    parts: list[str] = []
    for passage in passages:
        last = passage.first_line + len(passage.lines) - 1
        text = "\n".join(passage.lines).strip("\n")
        parts.append(f"## {passage.topic}, lines {passage.first_line}-{last}\n{text}\n")
    return "\n".join(parts)
