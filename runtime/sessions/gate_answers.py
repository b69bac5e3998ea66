"""Answers a gate for a person, as the client of their token, at the hub of any home."""

from collections.abc import Iterator
from contextlib import closing

import msgspec

from cortex.bus import Client, Event, Feed, Recorded, steady_s
from cortex.bus.events import (
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResume,
    ExecutionResumed,
    GateEvaluated,
)
from cortex.runtime.executions import is_own
from cortex.runtime.kernel import RefusedError
from cortex.runtime.projections import STREAM

from .errors import WaitingError

HEARD_S = 60.0  # within which an answer must reach its execution
JUDGED_S = 10.0  # within which its gate must evaluate it, if this client can see that
TURN_S = 0.5
_ENDS = ("completed", "failed", "cancelled")


class AnsweredDocument(msgspec.Struct):
    """An answer that a gate took."""

    execution: str
    gate: str
    question: str
    answer: str  # "approved" or "denied"
    by: str  # its author, as authenticated by the hub


def answer_gate(client: Client, execution_id: str, answer: str, note: str = "") -> AnsweredDocument:
    """Answer the gate at which an execution waits, and wait for what it makes of that.

    Raises:
        RefusedError: It asks nothing that *client* can see, or does not take the answer.
        WaitingError: The gate does not take it from this client, and still asks.
    """
    asked, seen = asked_by_gate(client, execution_id)
    said = ExecutionResume(
        execution_id=execution_id, gate=asked.gate, answer=answer, note=note, seen=seen
    )
    with closing(client.follow(("execution.*", None), ("gate.*", None))) as feed:
        by = _taken(client, feed, said, client.publish(said))
    return AnsweredDocument(execution_id, asked.gate, asked.question, answer, by)


def asked_by_gate(client: Client, execution_id: str) -> tuple[ExecutionPaused, int]:
    """The pause of the open question, and the log position up to which this read.

    An answer with that position is refused if another question came later.

    Raises:
        RefusedError: There is no question that this client can see.
    """
    asked: ExecutionPaused | None = None
    seen = client.head  # before the reading: what is said during it may be missed
    for record in client.read_stream(STREAM + execution_id):
        if record.topic in client.vocabulary and is_own(record):
            event = client.vocabulary.read(record)
            if isinstance(event, ExecutionPaused):
                asked = event
            elif isinstance(event, ExecutionResumed) or record.topic.endswith(_ENDS):
                asked = None if record.topic.startswith("execution.") else asked
    if asked is None or not asked.gate:
        raise RefusedError(
            f"no gate of execution {execution_id} asks anything that {client.name} may see: give "
            "the whole id, and look at its grants with `cortex client show`"
        )
    return asked, seen


def _taken(client: Client, feed: Feed, said: ExecutionResume, at: int) -> str:
    """Who answered, once the gate took it."""
    by, deadline = "", steady_s() + HEARD_S
    while steady_s() < deadline:
        for record, event in _of(client, feed.next(TURN_S), said.execution_id, at):
            match event:
                case ExecutionRefused() if record.causation == at:
                    raise RefusedError(event.reason)
                case ExecutionResumed() if not by:
                    by, deadline = event.by, min(deadline, steady_s() + JUDGED_S)
                case ExecutionPaused() if by and event.gate == said.gate:
                    raise WaitingError(said.execution_id, event.question)
                case GateEvaluated(outcome="passed") | GateEvaluated(outcome="failed") if by:
                    return by
                case ExecutionHalted() if by:
                    return by
                case _:
                    pass
    if by:
        return by  # this client may not see the evaluation
    raise RefusedError(f"the answer was recorded, but there was no result within {HEARD_S:g} s")


def _of(
    client: Client, records: list[Recorded], execution_id: str, after: int
) -> Iterator[tuple[Recorded, Event]]:
    """What came of the execution after a position."""
    for record in records:
        if record.position > after and record.topic in client.vocabulary:
            event: Event = client.vocabulary.read(record)
            if getattr(event, "execution_id", "") == execution_id:
                yield record, event
