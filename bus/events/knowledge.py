"""Knowledge: what was indexed, what is gone, what was looked for."""

from typing import Any

from ..event import Event


class KnowledgeIndexed(Event, frozen=True, kw_only=True, tag="knowledge.indexed"):
    """Files were cut and indexed, as they stood at that moment."""

    blob: str  # digest of the blob that holds their texts, one after the other
    files: tuple[dict[str, Any], ...]  # path, topic, digest, chunks, offset, bytes, note
    chunks: int  # of all of them


class KnowledgeRemoved(Event, frozen=True, kw_only=True, tag="knowledge.removed"):
    """Files that were indexed are gone; nothing in them is found any more."""

    paths: tuple[str, ...]


class KnowledgeRequested(Event, frozen=True, kw_only=True, tag="knowledge.requested"):
    """An agent step looked for knowledge."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    turn: int
    call_id: str
    query: str
    topics: tuple[str, ...] = ()  # found, best first
    found: str = ""  # digest of the blob with the passages, their places, scores and parts
    notes: tuple[str, ...] = ()  # what was not as it should be
