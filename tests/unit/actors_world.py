"""Handlers and gates called as functions: a request in, the events out."""

import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from cortex.bus import Event
from cortex.bus.events import GateEvaluate, GateEvaluated, StepCompleted, StepExecute, StepFailed
from cortex.runtime.kernel import Delivery

PYTHON = sys.executable
NOON_NS = 1_700_000_000_000_000_000

Kind = TypeVar("Kind", bound=Event)


def delivery(position: int = 7, component: str = "Tested", attempt: int = 1) -> Delivery:
    """What a handler may know beside its event."""
    return Delivery(position, NOON_NS + position, component, "tester", "e1", 1, attempt)


def gate_evaluate(gate: str, workspace: str = "", **fields: Any) -> GateEvaluate:
    """A request to a gate; *fields* go beside what every request has."""
    return GateEvaluate(execution_id="e1", gate=gate, workspace=workspace, **fields)


def verdict(
    evaluate: Callable[[GateEvaluate, Delivery], Iterable[Event]], event: GateEvaluate
) -> GateEvaluated:
    """The one answer of a gate."""
    (answer,) = evaluate(event, delivery())
    assert isinstance(answer, GateEvaluated)
    assert (answer.execution_id, answer.gate, answer.index, answer.attempt) == (
        event.execution_id,
        event.gate,
        event.index,
        event.attempt,
    )
    return answer


def step_execute(action: str, workspace: str = "", **parameters: Any) -> StepExecute:
    """A request to carry out *action*."""
    return StepExecute(
        execution_id="e1",
        step_id="s1",
        action=action,
        attempt=2,
        parameters=parameters,
        workspace=workspace,
    )


def completed(
    execute: Callable[[StepExecute, Delivery], Iterable[Event]],
    event: StepExecute,
    *,
    position: int = 7,
) -> StepCompleted:
    """What a handler says of a step that it carried out."""
    return _only(StepCompleted, execute(event, delivery(position)))


def refused(
    execute: Callable[[StepExecute, Delivery], Iterable[Event]],
    event: StepExecute,
    *,
    position: int = 7,
) -> StepFailed:
    """What a handler says of a step that it cannot carry out: one clear line."""
    failed = _only(StepFailed, execute(event, delivery(position)))
    assert failed.error
    assert "\n" not in failed.error
    assert len(failed.error) < 1_000
    return failed


def _only(kind: type[Kind], events: Iterable[Event]) -> Kind:
    (event,) = events
    assert isinstance(event, kind), event
    assert getattr(event, "execution_id", "") == "e1"
    assert getattr(event, "step_id", "") == "s1"
    assert getattr(event, "attempt", 0) == 2
    return event


@contextmanager
def ends_with_its_group(folder: Path) -> Iterator[tuple[str, ...]]:
    """A program that starts a child and waits for ever; after the block the child must be gone.

    The child holds the writing end of a fifo, so that its end is seen without asking for it.
    """
    fifo = folder / "held"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield ("sh", "-c", f"exec 3> '{fifo}'; sleep 600 & wait")
        poll = select.poll()
        poll.register(reader, select.POLLHUP)
        assert poll.poll(10_000), "what the program started is still there"
    finally:
        os.close(reader)
