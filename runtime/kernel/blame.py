"""How often an event was tried, when it is tried again, and when it is parked."""

from cortex.bus import Attempted, Backoff, Draft, Lease, Recorded
from cortex.bus.events import ComponentFailed

from .host import Effects

BACKOFF = Backoff(first_s=0.1, longest_s=30.0)  # of an event that failed
FALLS = 10  # tries that ended with the whole runtime; then an event is parked for that

Begun = Attempted | Lease  # a try that was counted before it began


def own(begun: Begun) -> int:
    """Tries since the runtime started, this one included."""
    return begun.attempts - begun.fallen


def shown(begun: Begun) -> int:
    """What a handler is told: 2 or more if it was begun before, the limit only at the last try."""
    return max(own(begun), min(begun.attempts, 2), 1)


def blamed(max_attempts: int, begun: Begun, otherwise: str) -> str:
    """Why an event is parked untried; empty where it is not."""
    if begun.fallen >= max(FALLS, max_attempts):
        return "the whole runtime ended each time while it was handled"
    return otherwise if own(begun) > max_attempts else ""


def backoff_ns(attempt: int) -> int:
    """How long a failed event waits after its *attempt*-th try, counted from 1."""
    return BACKOFF.after_ns(attempt)


def parked(
    component: str, record: Recorded, reason: str, attempts: int, trace: str = ""
) -> Effects:
    """What is said of an event that *component* gives up; *trace* is a blob's digest."""
    failed = ComponentFailed(
        component=component,
        reason=reason,
        position=record.position,
        about=record.topic,
        attempts=attempts,
        trace=trace,
    )
    draft = Draft.of(failed, correlation=record.correlation, causation=record.position)
    return Effects((draft,))
