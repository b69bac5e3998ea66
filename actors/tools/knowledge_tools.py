"""The tool that searches the knowledge of the home and of the library."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from cortex.bus import Event
from cortex.bus.events import KnowledgeRequested, ToolCall
from cortex.runtime.functions import ToolStep
from cortex.runtime.kernel import Component, Config, Delivery, Home, on
from cortex.runtime.knowledge import KnowledgeError, Resolved, TopicIndex
from cortex.runtime.log import Blobs
from cortex.runtime.retrieval import RetrievalError, by_file, written

from ..opened_knowledge import LONGEST_TEXT, OpenedKnowledge, told
from .answers import lines_of
from .carrying import carry_out
from .declaring import tool
from .errors import ToolError

if TYPE_CHECKING:
    from cortex.runtime.retrieval import Passage, SearchResult

PROVIDER = "knowledge"


class FindKnowledge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `find_knowledge` takes."""

    query: Annotated[
        str, Meta(description="what is wanted, in a few words; or a topic, to read all of it")
    ]


class KnowledgeTools(Component):
    """Finds passages of knowledge by the words of a question."""

    rests = True

    def __init__(self, home: Home | None, blobs: Blobs, config: Config | None = None) -> None:
        self._blobs = blobs
        self._knowledge = OpenedKnowledge(home, config, blobs.put)
        self._index = TopicIndex(self._knowledge.roots)

    def on_stop(self) -> None:
        """Close the store."""
        self._knowledge.close()

    @on(ToolCall, where={"provider": PROVIDER})
    def call(self, event: ToolCall, delivery: Delivery) -> Iterator[Event]:
        """Use it."""
        yield from carry_out(self, event, delivery, self._blobs)

    @tool("find_knowledge", provider=PROVIDER, effect="read")
    def find_knowledge(self, asked: FindKnowledge, step: ToolStep) -> str:
        """Find passages in the knowledge that people wrote down, with their topics."""
        event = step.event
        query = asked.query.strip()
        if not query or len(query) > LONGEST_TEXT:
            problem = f"a query has 1 to {LONGEST_TEXT:,} characters"
            raise ToolError(problem, "wrong_arguments")
        if query in self._index.topics():
            step.summary = f"all of {query}"
            step.publish(_requested(event, query, (query,)))
            return _whole(query, lines_of(self._read(query)))
        try:
            indexed, found = self._knowledge.find((query,))
        except RetrievalError as error:
            raise ToolError(str(error), "unavailable") from error
        topics = tuple(dict.fromkeys(one.topic or one.path for one in found.passages))
        kept = self._blobs.put(msgspec.json.encode(found))
        asked_for = _requested(event, query, topics, kept, found.notes_and_caution())
        number = len(found.passages)
        step.summary = f"{number} passage{'' if number == 1 else 's'} for {query}"
        step.publish(*told(indexed), asked_for)
        return _shown(found, query)

    def _read(self, topic: str) -> str:
        try:
            resolved = self._index.resolve(topic)
            return self._index.read(resolved).text if isinstance(resolved, Resolved) else ""
        except KnowledgeError:
            return ""  # an unusable file is reported where a process declares it


def _requested(
    event: ToolCall,
    query: str,
    topics: tuple[str, ...],
    found: str = "",
    notes: tuple[str, ...] = (),
) -> KnowledgeRequested:
    return KnowledgeRequested(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        turn=event.turn,
        call_id=event.call_id,
        query=query,
        topics=topics,
        found=found,
        notes=notes,
    )


def _whole(topic: str, lines: list[str]) -> str:
    text = "\n".join(lines).strip("\n")
    return f"## {topic}, lines 1-{len(lines)}\n{text}\n"


def _last_line(passage: "Passage") -> int:
    return passage.first_line + passage.text.strip("\n").count("\n")


def _shown(found: "SearchResult", query: str) -> str:
    if not found.passages:
        notes = (f"note: {note}\n" for note in found.notes_and_caution())
        return "".join((f"nothing is known about {query!r}\n", *notes))
    parts = [f"note: {found.caution}\n"] if found.caution else []
    for passages in by_file(found.passages):
        name = passages[0].topic or Path(passages[0].path).name
        lines = ", ".join(f"{one.first_line}-{_last_line(one)}" for one in passages)
        parts.append(f"## {name}, lines {lines}\n{written(passages)}")
    return "\n".join((*parts, *(f"note: {note}" for note in found.notes)))
