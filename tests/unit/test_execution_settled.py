"""A step that a person skips, and a result that a person gives: recorded, checked, gated."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import msgspec
import pytest

from cortex.bus.events import (
    ContextCompile,
    EffectSettle,
    ExecutionCompleted,
    ExecutionHalted,
    ExecutionPause,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResume,
    GateEvaluate,
    ModelInvoke,
    StepCompleted,
    StepExecute,
    StepFailed,
    StepSettle,
    StepSettled,
    StepSkipped,
    StepUnclaimed,
)
from cortex.runtime.executions import is_wanted
from cortex.runtime.kernel import Begun
from cortex.runtime.processes import Continue, Field, LinkedGate, MapOf, Template

from .execution_world import World, action_step, gate, process_of

COUNT = Field(name="count", type="integer")


def of_first(name: str) -> LinkedGate:
    """A gate that looks at what the first step gave."""
    count = msgspec.convert({"type": "ref", "path": ["steps", "one", "count"]}, Template)
    return msgspec.structs.replace(gate(name), parameters=MapOf((("count", count),)))


def settle(world: World, step_id: str, outcome: str, **more: Any) -> None:
    world.publish(
        StepSettle(execution_id="x", step_id=step_id, outcome=outcome, **more), source="alice"
    )
    world.play()


def halted(*more: Any) -> World:
    """An execution whose first step failed."""
    world = World(process_of(action_step("one", output=(COUNT,)), *more))
    world.start()
    position, asked = world.open(StepExecute)[0]
    failed = StepFailed(execution_id="x", step_id="one", attempt=1, error="no", retry=False)
    world.settle(position, failed)
    assert asked.step_id == "one"
    return world


@pytest.mark.parametrize("restarted", [False, True])
def test_a_step_that_failed_is_skipped_and_it_is_recorded_who_said_so_and_why(
    restarted: bool,
) -> None:
    world = halted(action_step("two"))
    if restarted:
        world.restart()

    settle(world, "one", "skipped", note="done by hand")

    (settled,) = world.said(StepSettled)
    (skipped,) = world.said(StepSkipped)
    assert (settled.by, settled.outcome, settled.note) == ("alice", "skipped", "done by hand")
    assert (skipped.step_id, skipped.reason) == ("one", "alice skipped it: done by hand")
    assert [e.step_id for e in world.said(StepExecute)] == ["one", "two"]
    assert world.state().statuses == {"one": "skipped"}


def test_an_earlier_step_that_failed_and_is_skipped_now_counts_as_skipped() -> None:
    world = World(
        process_of(action_step("one", on_failure=Continue()), action_step("two", output=(COUNT,)))
    )
    world.start()
    for _ in range(2):
        position, asked = world.open(StepExecute)[0]
        failed = StepFailed(execution_id="x", step_id=asked.step_id, error="no", retry=False)
        world.settle(position, failed)
    assert world.state().status == "halted"

    settle(world, "one", "skipped")

    assert world.state().statuses == {"one": "skipped"}
    assert world.state().results == {}


@pytest.mark.parametrize("restarted", [False, True])
def test_a_step_has_the_result_that_a_person_gave(restarted: bool) -> None:
    world = halted(action_step("two"))

    settle(world, "one", "replaced", result={"count": 3})
    if restarted:
        world.restart()
    world.answer(StepExecute)

    (given, _) = world.said(StepCompleted)
    assert (given.step_id, given.result, given.attempt) == ("one", {"count": 3}, 2)
    assert given.summary == "alice gave its result"
    assert world.state().results["one"] == {"count": 3}
    assert len(world.said(ExecutionCompleted)) == 1


def outputs_checked(course: Callable[[], World]) -> tuple[World, int]:
    """The world that *course* leaves, and how often it compared a result with what is declared."""
    names: list[str] = []

    def called(frame: FrameType, what: str, _: object) -> None:
        if what == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(called)
    try:
        world = course()
    finally:
        sys.setprofile(None)
    return world, names.count("not_as_declared")


def ran() -> World:
    world = World(process_of(action_step("one", output=(COUNT,))))
    world.start()
    world.answer(StepExecute, result={"count": 3})
    return world


def stopped_at_the_next() -> World:
    world = World(process_of(action_step("one", output=(COUNT,)), action_step("two")))
    world.start(breakpoints=("two",))
    position, _ = world.open(StepExecute)[0]
    given = StepCompleted(execution_id="x", step_id="one", attempt=1, result={"count": 3})
    world.settle(position, given)
    settle(world, "two", "skipped")
    return world


def completed_in_a_pause() -> World:
    world = World(process_of(action_step("one", output=(COUNT,))))
    world.start()
    position, _ = world.open(StepExecute)[0]
    world.publish(ExecutionPause(execution_id="x"))
    world.play()
    given = StepCompleted(execution_id="x", step_id="one", attempt=1, result={"count": 3})
    world.settle(position, given)
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    return world


def replaced() -> World:
    world = halted()
    settle(world, "one", "replaced", result={"count": 3})
    return world


def happened() -> World:
    world = World(process_of(action_step("one", output=(COUNT,), effect="once")))
    world.start()
    position, asked = world.open(StepExecute)[-1]
    begun = Begun.of(asked, f"{position}/0/Worker/0", "Worker")
    world.publish(begun.intended(), begun.unknown("it was killed", 1), source="Worker")
    world.play()
    world.publish(
        EffectSettle(
            execution_id="x",
            effect_key=next(iter(world.state().unknown)),
            outcome="happened",
            result={"count": 3},
        )
    )
    world.play()
    return world


@pytest.mark.parametrize(
    "course", [ran, stopped_at_the_next, completed_in_a_pause, replaced, happened]
)
def test_an_output_is_compared_once_with_what_is_declared(course: Callable[[], World]) -> None:
    world, checked = outputs_checked(course)

    assert world.state().status == "completed"
    assert world.state().results["one"] == {"count": 3}
    assert checked == 1


@pytest.mark.parametrize(
    ("step_id", "outcome", "more", "reason"),
    [
        ("one", "replaced", {"result": {"count": "many"}}, "count is 'many', expected: integer"),
        ("one", "replaced", {}, "count is missing"),
        ("onne", "skipped", {}, "did you mean `one`"),
        ("one", "forgotten", {}, "not one of skipped, replaced"),
        ("one", "skipped", {"from_step": "two"}, "it was not at a step 'two'"),
    ],
)
def test_what_does_not_fit_the_step_is_refused_whole(
    step_id: str, outcome: str, more: dict[str, Any], reason: str
) -> None:
    world = halted(action_step("two"))

    settle(world, step_id, outcome, **more)

    (refused,) = world.said(ExecutionRefused)
    assert reason in refused.reason
    assert (refused.asked, refused.by) == ("step.settle", "alice")
    assert world.said(StepSettled) == []
    assert world.state().status == "halted"


def test_the_gates_of_a_step_are_asked_before_its_given_result_counts() -> None:
    world = World(process_of(action_step("one"), action_step("two", gates=(gate("ready"),))))
    world.start(breakpoints=("one",))

    settle(world, "two", "replaced", result={"by": "alice"})
    world.answer(StepExecute)
    asked = world.said(GateEvaluate)
    before = world.state().statuses
    world.answer(GateEvaluate, outcome="failed", reason="not ready")

    assert [each.step_id for each in asked] == ["two"]
    assert before == {"one": "completed"}
    assert world.said(ExecutionHalted)[0].gate == "ready"
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    world.answer(GateEvaluate)
    assert world.state().results["two"] == {"by": "alice"}
    assert world.state().status == "completed"


def test_a_gate_that_failed_is_asked_again_over_the_replaced_result() -> None:
    steps = action_step("one"), action_step("two", gates=(of_first("enough"),))
    world = World(process_of(*steps))
    world.start()
    world.answer(StepExecute, result={"count": 0})
    world.answer(GateEvaluate, outcome="failed", reason="none are there")

    settle(world, "one", "replaced", result={"count": 3})

    first, second = world.said(GateEvaluate)
    assert (first.parameters, second.parameters) == ({"count": 0}, {"count": 3})
    assert len(world.said(StepExecute)) == 1


def test_gates_that_passed_are_asked_again_where_what_they_saw_is_replaced() -> None:
    steps = (
        action_step("one"),
        action_step("two", asks_model=True, gates=(of_first("enough"),), breakpoint=True),
    )
    world = World(process_of(*steps))
    world.start()
    world.answer(StepExecute, result={"count": 3})
    world.answer(GateEvaluate)
    world.answer(ContextCompile)
    assert world.state().stage == "compiled"

    settle(world, "one", "replaced", result={"count": 0})

    assert [each.parameters for each in world.said(GateEvaluate)] == [{"count": 3}, {"count": 0}]
    assert world.said(ModelInvoke) == []
    world.answer(GateEvaluate, outcome="failed", reason="none are there")
    assert world.state().status == "halted"


def test_a_question_to_a_person_is_not_passed_over_by_a_skip() -> None:
    world = World(process_of(action_step("one", gates=(gate("approved"),))))
    world.start()
    world.answer(GateEvaluate, outcome="waiting", reason="go on?")

    settle(world, "one", "skipped")

    assert "it waits for an answer" in world.said(ExecutionRefused)[0].reason
    assert world.state().status == "paused"


def test_at_a_breakpoint_the_model_is_not_asked_where_its_result_is_given() -> None:
    step = action_step("one", asks_model=True, breakpoint=True)
    world = World(process_of(step, action_step("two")))
    world.start()
    world.answer(ContextCompile)
    assert world.said(ExecutionPaused)[0].reason == "breakpoint"

    settle(world, "one", "replaced", result={"text": "forty-two"})

    assert world.said(ModelInvoke) == []
    assert [each.step_id for each in world.said(StepExecute)] == ["two"]
    assert world.state().results == {"one": {"text": "forty-two"}}


def test_what_a_person_decided_before_they_saw_how_it_stands_is_refused() -> None:
    world = halted(action_step("two"))

    settle(world, "one", "skipped", seen=1)

    assert world.said(StepSettled) == []
    assert len(world.said(ExecutionRefused)) == 1


def test_a_step_that_is_gone_back_to_is_carried_out_and_not_settled_again() -> None:
    world = halted(action_step("two"))
    settle(world, "one", "replaced", result={"count": 3})
    position, _ = world.open(StepExecute)[-1]
    failed = StepFailed(execution_id="x", step_id="two", attempt=1, error="no", retry=False)
    world.settle(position, failed)

    world.publish(ExecutionResume(execution_id="x", from_step="one"))
    world.play()

    assert world.said(StepExecute)[-1].step_id == "one"
    assert world.said(StepExecute)[-1].attempt == 3


def test_a_skipped_step_that_waited_for_a_worker_is_carried_out_by_nobody() -> None:
    world = World(process_of(action_step("one"), action_step("two")))
    world.start()
    position, asked = world.open(StepExecute)[0]
    world.publish(StepUnclaimed(execution_id="x", step_id="one", action="work", waited_s=1.0))
    world.publish(ExecutionPause(execution_id="x"))
    world.play()
    assert world.state().status == "paused"

    settle(world, "one", "skipped")
    wanted = is_wanted(asked, position, world.history("execution/x"))
    world.settle(position, StepCompleted(execution_id="x", step_id="one", result={"late": 1}))

    assert not wanted
    assert world.state().statuses == {"one": "skipped"}
    assert [each.step_id for each in world.said(StepExecute)] == ["one", "two"]
    assert "one" not in world.state().results
