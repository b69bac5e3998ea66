"""Nothing of an execution runs on that its parent has ended with, or gone on without.

Every order in which a failure, a resume, an answer and a cancel can come is tried, with the engine
handling none, one or all of what is there in between: so no order is left to luck.
"""

from itertools import permutations, product
from typing import Any

import pytest

from cortex.bus import Event, Recorded
from cortex.bus.events import (
    VOCABULARY,
    ContextCompile,
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionResume,
    ExecutionStarted,
    GateEvaluate,
    ModelInvoke,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepItemChanged,
)

from .execution_fan_world import each_of, started
from .execution_world import World, action_step, child_step, process_of

SEEN = 10**9  # whoever asks has seen all there is
GOES_ON = frozenset(
    kind.topic_name()
    for kind in (ContextCompile, GateEvaluate, ModelInvoke, StepDelegated, StepExecute)
) | {"execution.resumed"}


def asked(world: World, number: int) -> Any:
    return [request for _, request in world.open(StepExecute)][number]


def place(request: Any) -> dict[str, Any]:
    return {
        "execution_id": request.execution_id,
        "step_id": request.step_id,
        "attempt": request.attempt,
    }


def children(world: World) -> set[str]:
    return {each.child for each in world.said(StepDelegated)}


def left_at(world: World, child: str) -> int | None:
    """Position from which on nothing more may be asked for *child*; None where it may go on."""
    found = [
        record.position
        for record in world.records
        if _leaves(record, VOCABULARY.read(record), child)
    ]
    return min(found, default=None)


def _leaves(record: Recorded, event: Event, child: str) -> bool:
    if isinstance(event, ExecutionCancelled):
        return event.execution_id == "x"
    ending = isinstance(event, StepItemChanged) and event.status == "ending"
    return ending and getattr(event, "child", "") == child


def ran_on(world: World) -> list[tuple[str, int]]:
    """What was asked for a child after its parent had left it."""
    return [
        (record.topic, record.position)
        for child in children(world)
        if (left := left_at(world, child)) is not None
        for record in world.history(f"execution/{child}")
        if record.position > left and record.topic in GOES_ON
    ]


def told(world: World, events: tuple[Event, ...], pages: tuple[int, ...]) -> None:
    for event, page in zip(events, pages, strict=True):
        world.publish(event)
        if page:
            world.pump(limit=page)
        if page == 1:
            world.restart()  # and knows all of it from the log
    world.play()


@pytest.mark.parametrize("failures", ["halt", "collect"])
@pytest.mark.parametrize("pages", list(product((0, 1, 256), repeat=4)))
def test_no_item_runs_on_without_its_step_in_whatever_order_things_come(
    failures: str, pages: tuple[int, ...]
) -> None:
    for order in permutations(range(4)):
        world = started(each_of(failures=failures))
        first, second = asked(world, 0), asked(world, 1)
        events: tuple[Event, ...] = (
            StepFailed(**place(first), error="it broke"),
            ExecutionResume(execution_id=first.execution_id, seen=SEEN),
            StepCompleted(**place(second), result={"got": 20}),
            ExecutionCancel(execution_id="x"),
        )

        told(world, tuple(events[n] for n in order), pages)

        assert ran_on(world) == [], order
        assert world.state().status == "cancelled"
        assert all(world.state(child).over for child in children(world)), order


@pytest.mark.parametrize("pages", list(product((0, 1, 256), repeat=3)))
def test_no_grandchild_runs_on_either(pages: tuple[int, ...]) -> None:
    inner = process_of(action_step("a"), action_step("b"), name="inner")
    middle = process_of(child_step("call", "inner"), name="middle")
    for order in permutations(range(3)):
        world = World(process_of(child_step("call", "middle"), name="p"), middle, inner)
        world.start()
        request = asked(world, 0)
        events: tuple[Event, ...] = (
            StepCompleted(**place(request), result={}),
            ExecutionCancel(execution_id="x"),
            ExecutionResume(execution_id=request.execution_id, seen=SEEN),
        )

        told(world, tuple(events[n] for n in order), pages)

        assert ran_on(world) == [], order
        assert all(world.state(child).over for child in children(world)), order


def test_a_forged_parent_ends_nothing() -> None:
    world = World(process_of(action_step("a"), action_step("b")))
    world.start()
    world.publish(ExecutionCancel(execution_id="x"))
    world.play()

    world.start(execution_id="y", parent="x", parent_step="a")
    world.answer_all()

    assert world.state("y").status == "completed"
    assert [each.execution_id for each in world.said(ExecutionStarted)] == ["x", "y"]
