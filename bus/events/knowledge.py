"""Knowledge: indexed and removed files, and searches."""

from typing import Any

from ..event import Event, Query


class KnowledgeIndex(Event, frozen=True, kw_only=True, tag="knowledge.index"):
    """Update the index from the files; `knowledge.indexed` reports what was new."""


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
    personal = ("texts", "under")

    execution_id: str
    step_id: str
    attempt: int = 1
    texts: tuple[str, ...]  # the queries, with values filled in
    under: tuple[str, ...] = ()  # only passages of these topics and those below; empty: of all
    limit: int = 8  # most passages, of all texts together
    tokens: int | None = None  # limit of their estimated tokens; None for the default
    found: str = ""  # digest of the passages on record, which count: nothing is searched then


class KnowledgeRequested(Event, frozen=True, kw_only=True, tag="knowledge.requested"):
    """A step, or its model with a tool, searched for knowledge."""

    belongs = ("execution", "execution_id")
    personal = ("query", "topics", "notes", "problem")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int  # 0 if the step itself searched
    call_id: str  # of the tool; "" if the step searched before its prompt
    query: str  # several are separated by newlines
    topics: tuple[str, ...] = ()  # found, best first
    found: str = ""  # digest of the blob with the passages, their places, scores and parts
    notes: tuple[str, ...] = ()  # warnings
    problem: str = ""  # why the search was not possible


class KnowledgeFind(Query, frozen=True, kw_only=True, tag="knowledge.find"):
    """Ask for the passages that match a text best; the answer is a `KnowledgeAnswer`."""

    text: str  # in natural language
    limit: int = 10  # most passages
    under: tuple[str, ...] = ()  # only passages of these topics and those below; empty: of all


class KnowledgeAnswer(Query, frozen=True, kw_only=True, tag="knowledge.answer"):
    """Passages as maps, best first, from the files as they were at that moment."""

    passages: tuple[dict[str, Any], ...]  # topic, path, digest, heading, first_line, text, score
    notes: tuple[str, ...] = ()  # warnings
    problem: str = ""  # why the search was not possible
    certainty: float = 0.0  # from 0 to 1, that they answer the text; below 0.45 there are none
    caution: str = ""  # what to say above them, or in their place; "" if they are certain
