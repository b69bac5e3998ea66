"""Breakpoints are set and removed while an execution runs, and it goes on by one step."""

from typing import Any

import pytest

from cortex.bus.events import (
    ContextCompile,
    ExecutionBreak,
    ExecutionBreakpointsChanged,
    ExecutionEdit,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionRequest,
    ExecutionResume,
    ExecutionResumed,
    GateEvaluate,
    GateEvaluated,
    ModelInvoke,
    StepExecute,
    StepFailed,
    StepSettle,
)
from cortex.runtime.executions import breakpoints_of
from cortex.runtime.processes import Field, Retry

from .execution_fan_world import each_of, item, started
from .execution_world import World, action_step, child_step, gate, process_of
from .test_execution_goals import at_work, choose

STEPS = (
    action_step("one"),
    action_step("two", asks_model=True),
    action_step("three", breakpoint=True),
    action_step("four"),
)


def running(*steps: Any, **more: Any) -> World:
    world = World(process_of(*(steps or STEPS), **more))
    world.start()
    return world


def resume(world: World, execution_id: str = "x", **more: Any) -> None:
    world.publish(ExecutionResume(execution_id=execution_id, **more), source="alice")
    world.play()


def set_(world: World, execution_id: str = "x", **more: Any) -> None:
    world.publish(ExecutionBreak(execution_id=execution_id, **more), source="alice")
    world.play()


def stands(world: World, execution_id: str = "x") -> tuple[str, str, str]:
    state = world.state(execution_id)
    return state.status, state.reason, state.step_id


@pytest.mark.parametrize("restarted", [False, True])
def test_one_that_is_set_while_it_runs_stops_it_and_one_that_is_removed_does_not(
    restarted: bool,
) -> None:
    world = running()

    set_(world, add=("four", "two"), remove=("three",), note="look")
    if restarted:
        world.restart()
    world.answer(StepExecute)
    world.answer(ContextCompile)
    at_two = stands(world)
    resume(world)
    world.answer(ModelInvoke)
    world.answer(StepExecute)
    world.answer(StepExecute)

    (told,) = world.said(ExecutionBreakpointsChanged)
    assert (told.breakpoints, told.added) == (("four", "two"), ("four", "two"))
    assert (told.removed, told.by, told.note) == (("three",), "alice", "look")
    assert at_two == ("paused", "breakpoint", "two")
    assert stands(world) == ("paused", "breakpoint", "four")
    assert [paused.step_id for paused in world.said(ExecutionPaused)] == ["two", "four"]
    assert breakpoints_of(world.processes["p"], world.state()) == ("four", "two")


@pytest.mark.parametrize("restarted", [False, True])
def test_by_one_step_it_stops_before_each_step_and_shows_each_prompt(restarted: bool) -> None:
    world = World(process_of(*STEPS))
    world.start(breakpoints=("one",))

    places = []
    for _ in range(3):
        places.append((stands(world)[2], world.state().stage))
        resume(world, stepping=True)
        if restarted:
            world.restart()
        while world.state().status == "running":
            world.answer()
    resume(world)
    world.answer(StepExecute)

    assert places == [("one", "idle"), ("two", "compiled"), ("three", "idle")]
    assert [paused.step_id for paused in world.said(ExecutionPaused)] == [
        "one", "two", "three", "four",
    ]  # fmt: skip
    assert [each.stepping for each in world.said(ExecutionResumed)] == [True, True, True, False]
    assert world.state().status == "completed"


def test_a_prompt_at_which_it_stopped_by_a_step_is_shown_again_after_other_inputs() -> None:
    world = World(
        process_of(*STEPS, inputs=(Field(name="a", type="string", required=False, default="b"),))
    )
    world.start(breakpoints=("one",))
    resume(world, stepping=True)
    world.answer(StepExecute)
    world.answer(ContextCompile)

    world.publish(ExecutionEdit(execution_id="x", inputs={"a": "c"}), source="alice")
    world.play()
    world.answer(ContextCompile)

    assert stands(world) == ("paused", "breakpoint", "two")
    assert world.said(ModelInvoke) == []


def test_a_step_that_is_skipped_may_be_followed_by_a_stop_too() -> None:
    world = World(process_of(*STEPS))
    world.start(breakpoints=("one",))

    settle = StepSettle(execution_id="x", step_id="one", outcome="skipped", stepping=True)
    world.publish(settle, source="alice")
    world.play()
    world.answer(ContextCompile)

    assert stands(world) == ("paused", "breakpoint", "two")
    assert world.state().statuses == {"one": "skipped"}


def test_another_attempt_of_the_same_step_is_the_same_step() -> None:
    world = World(process_of(action_step("one", retry=Retry(attempts=2)), action_step("two")))
    world.start(breakpoints=("one",))

    resume(world, stepping=True)
    position, _ = world.open(StepExecute)[-1]
    world.settle(position, StepFailed(execution_id="x", step_id="one", attempt=1, error="no"))
    world.drain()
    again = world.said(StepExecute)[-1]

    assert (again.step_id, again.attempt) == ("one", 2)
    assert stands(world) == ("paused", "breakpoint", "two")


def test_one_step_over_a_child_ends_at_its_breakpoints_or_behind_it() -> None:
    inner = process_of(action_step("in"), action_step("deep"), name="q")
    world = World(process_of(child_step("call", "q"), action_step("after")), inner)
    world.start(breakpoints=("call",))

    resume(world, stepping=True)
    child = world.said(ExecutionRequest)[-1].execution_id
    set_(world, child, add=("deep",))
    world.answer(StepExecute)
    inside, outside = stands(world, child), world.state().status
    resume(world, child, stepping=True)
    world.answer(StepExecute)

    assert inside == ("paused", "breakpoint", "deep")
    assert outside == "paused"
    assert world.state(child).status == "completed"
    assert stands(world) == ("paused", "breakpoint", "after")


def test_a_refused_breakpoint_of_a_child_does_not_stop_its_parent() -> None:
    inner = process_of(action_step("inner"), name="q")
    world = World(process_of(child_step("call", "q")), inner)
    world.start()
    child = world.said(ExecutionRequest)[-1].execution_id

    set_(world, child, add=("iner",))

    (refused,) = world.said(ExecutionRefused)
    assert "q has no step 'iner': did you mean `inner`?" in refused.reason
    assert world.state().status == world.state(child).status == "running"


def test_items_that_are_under_way_and_later_ones_have_a_new_breakpoint() -> None:
    world = started(each_of(asks_model=True, at_once=1), items=[1, 2])

    set_(world, add=("each",))
    world.answer(ContextCompile)
    first = item(world, 1)
    resume(world, first)
    while world.state().status == "running":
        world.answer()
    second = item(world, 2)

    assert stands(world, second) == ("paused", "breakpoint", "each")
    assert [paused.execution_id for paused in world.said(ExecutionPaused)].count(first) == 1
    assert {each.by for each in world.said(ExecutionBreakpointsChanged)} == {"alice"}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"add": ("tow",)}, "p has no step 'tow': did you mean `two`?"),
        ({"remove": ("five",)}, "p has no step 'five'"),
        ({"add": ("three",)}, "it would change nothing"),
        ({"remove": ("one",)}, "it would change nothing"),
        ({"add": ("one",), "remove": ("one",)}, "say one of both"),
        ({}, "it would change nothing"),
    ],
)
def test_what_cannot_be_set_is_refused_and_changes_nothing(
    asked: dict[str, Any], reason: str
) -> None:
    world = running()
    before = world.state()

    set_(world, **asked)

    (refused,) = world.said(ExecutionRefused)
    assert reason in refused.reason
    assert (refused.asked, refused.by) == ("execution.break", "alice")
    assert world.said(ExecutionBreakpointsChanged) == []
    assert world.state() == before


def test_nobody_but_the_engine_sets_breakpoints() -> None:
    world = running()

    forged = ExecutionBreakpointsChanged(execution_id="x", breakpoints=("four",), by="alice")
    world.publish(forged, source="mallory")
    world.play()

    assert world.state().breaks is None


def test_one_that_ended_has_no_breakpoints_to_set() -> None:
    world = running(action_step("one"))
    world.answer(StepExecute)

    set_(world, add=("one",))

    assert "it is completed: it pauses no more" in world.said(ExecutionRefused)[0].reason


def test_one_step_stops_before_the_items_of_a_step_and_behind_them() -> None:
    world = World(
        process_of(
            action_step("one"),
            each_of(),
            action_step("last"),
            inputs=(Field(name="list", type="list"),),
        )
    )
    world.start(inputs={"list": [1, 2]}, breakpoints=("one",))

    resume(world, stepping=True)
    world.answer(StepExecute)
    before = stands(world)
    resume(world, stepping=True)
    world.answer(StepExecute)
    world.answer(StepExecute)

    assert before == ("paused", "breakpoint", "each")
    assert stands(world) == ("paused", "breakpoint", "last")
    assert len(world.said(ExecutionPaused)) == 3


def test_towards_a_goal_one_step_is_a_chosen_action_or_the_next_choice() -> None:
    world = at_work()
    set_(world, add=("test",))
    choose(world, ("test", {"which": "all"}))

    places = []
    for _ in range(3):
        places.append(stands(world)[2])
        resume(world, stepping=True)
        if world.open(StepExecute):
            world.answer(StepExecute)
            world.answer(ContextCompile)
        elif world.open(ModelInvoke):
            calls = [{"id": "c", "tool": "push", "arguments": {}}]
            world.answer(ModelInvoke, answer={"text": "", "calls": calls}, stop="calls")

    assert places == ["fix.1", "fix", "fix.2"]


def test_breakpoints_may_be_set_while_a_prompt_is_shown_and_that_one_is_not_shown_twice() -> None:
    world = World(process_of(action_step("two", asks_model=True), action_step("three")))
    world.start(breakpoints=("two",))
    world.answer(ContextCompile)

    set_(world, remove=("two",))
    set_(world, add=("two", "three"))
    resume(world)

    assert len(world.said(ModelInvoke)) == 1


def test_an_attempt_that_was_to_stop_with_its_prompt_has_its_time_once_it_is_not_to() -> None:
    world = running(action_step("two", asks_model=True, breakpoint=True, timeout_s=60.0))
    assert world.deadlines == {}

    set_(world, remove=("two",))
    world.answer(ContextCompile)

    assert len(world.said(ModelInvoke)) == len(world.deadlines) == 1


def test_an_answer_to_a_gate_may_be_followed_by_a_stop_too() -> None:
    asks = action_step("one", gates=(gate("approved"),))
    world = running(asks, action_step("two"))
    position, asked = world.open(GateEvaluate)[0]
    place = {"execution_id": "x", "gate": asked.gate, "step_id": "one", "index": asked.index}
    waiting = GateEvaluated(**place, attempt=asked.attempt, outcome="waiting", reason="go on?")
    world.settle(position, waiting)

    resume(world, gate="p/approved", answer="approved", stepping=True)
    world.answer(GateEvaluate)
    world.answer(StepExecute)

    assert stands(world) == ("paused", "breakpoint", "two")


def test_a_step_that_halts_is_no_stop_to_go_on_by() -> None:
    world = World(process_of(action_step("one"), action_step("two")))
    world.start(breakpoints=("one",))
    resume(world, stepping=True)
    position, _ = world.open(StepExecute)[-1]
    world.settle(position, StepFailed(execution_id="x", step_id="one", attempt=1, error="no"))

    resume(world)
    world.answer(StepExecute)
    world.answer(StepExecute)

    assert world.state().status == "completed"
