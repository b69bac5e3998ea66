"""Knowledge: what was looked for."""

from ..event import Event


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
