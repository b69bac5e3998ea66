"""Knowledge: what was indexed, what is gone, what was looked for."""

from typing import Any

from ..event import Event, Query


class KnowledgeIndex(Event, frozen=True, kw_only=True, tag="knowledge.index"):
    """Update the index from the files; `knowledge.indexed` says what was new."""


class KnowledgeIndexed(Event, frozen=True, kw_only=True, tag="knowledge.indexed"):
    """Files were cut and indexed, as they were at that moment."""

    blob: str  # digest of the blob that holds their texts, one after the other; "" without files
    files: tuple[dict[str, Any], ...]  # path, topic, digest, chunks, offset, bytes, note
    chunks: int  # of all of them


class KnowledgeRemoved(Event, frozen=True, kw_only=True, tag="knowledge.removed"):
    """Indexed files are gone; searches no longer find anything in them."""

    paths: tuple[str, ...]


class KnowledgeRequest(Event, frozen=True, kw_only=True, tag="knowledge.request"):
    """Find the passages that a step asks for under `find:`, before its prompt is compiled."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    texts: tuple[str, ...]  # what is asked, filled in
    under: tuple[str, ...] = ()  # topics that a passage stands in or below; all, where it is empty
    limit: int = 8  # most passages, of all texts together


class KnowledgeRequested(Event, frozen=True, kw_only=True, tag="knowledge.requested"):
    """A step, or its model with a tool, searched for knowledge."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int  # 0 where the step asked
    call_id: str  # of the tool; "" where the step asked, before its prompt
    query: str  # several in lines
    topics: tuple[str, ...] = ()  # found, best first
    found: str = ""  # digest of the blob with the passages, their places, scores and parts
    notes: tuple[str, ...] = ()  # what was not as it should be
    problem: str = ""  # why nothing could be looked for


class KnowledgeFind(Query, frozen=True, kw_only=True, tag="knowledge.find"):
    """Ask for the passages that match a text best; the answer is a `KnowledgeAnswer`."""

    text: str  # words as people say them
    limit: int = 10  # most passages
    under: tuple[str, ...] = ()  # topics that a passage stands in or below; all, where it is empty


class KnowledgeAnswer(Query, frozen=True, kw_only=True, tag="knowledge.answer"):
    """Passages as maps, best first, from the files as they were at that moment."""

    passages: tuple[dict[str, Any], ...]  # topic, path, digest, heading, first_line, text, score
    notes: tuple[str, ...] = ()  # what was not as it should be
    problem: str = ""  # why nothing could be looked for
