"""What a person changes of an execution that stands: inputs, and what it may spend."""

from typing import Any

import msgspec
import pytest

from cortex.bus.events import (
    ContextCompile,
    ExecutionEdit,
    ExecutionEdited,
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResumed,
    GateEvaluate,
    ModelInvoke,
    StepExecute,
    StepFailed,
)
from cortex.runtime.processes import Field, MapOf, Template

from .execution_world import World, action_step, gate, process_of

BRANCH = Field(name="branch", type="string")
COUNT = Field(name="count", type="integer", required=False, default=1)
GIVEN = MapOf(
    (("branch", msgspec.convert({"type": "ref", "path": ["inputs", "branch"]}, Template)),)
)


def halted(**more: Any) -> World:
    """An execution whose only step failed, with the branch that it was given."""
    step = action_step("push", parameters=GIVEN, **more)
    world = World(process_of(step, name="p", inputs=(BRANCH, COUNT)))
    world.start(inputs={"branch": "mian", "count": 1})
    position, asked = world.open(StepExecute)[0]
    place = {"execution_id": "x", "step_id": asked.step_id, "attempt": asked.attempt}
    world.settle(position, StepFailed(**place, error="there is no such branch", retry=False))
    return world


def edit(world: World, **more: Any) -> None:
    world.publish(ExecutionEdit(execution_id="x", **more), source="alice")
    world.play()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_halted_step_is_tried_again_with_what_a_person_changed(restarted: bool) -> None:
    world = halted()
    if restarted:
        world.restart()

    edit(world, inputs={"branch": "main"}, note="a typo")

    (edited,) = world.said(ExecutionEdited)
    asked = world.said(StepExecute)[-1]
    assert (edited.by, edited.changed, edited.note) == ("alice", ("branch",), "a typo")
    assert edited.inputs == {"branch": "main", "count": 1}
    assert (asked.attempt, asked.parameters) == (2, {"branch": "main"})
    assert world.state().begun().inputs == {"branch": "main", "count": 1}
    assert len(world.said(ExecutionResumed)) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"inputs": {"branch": 3}}, "branch is 3, expected: string"),
        ({"inputs": {"brnch": "main"}}, "did you mean branch"),
        ({"inputs": {"branch": "mian"}}, "it would change nothing"),
        ({"inputs": {"branch": "main"}, "from_step": "pull"}, "it was not at a step 'pull'"),
        ({"max_cost": float("nan")}, "nan is not an amount"),
    ],
)
def test_a_change_is_taken_whole_or_refused_whole(change: dict[str, Any], reason: str) -> None:
    world = halted()

    edit(world, **change)

    (refused,) = world.said(ExecutionRefused)
    assert reason in refused.reason
    assert (refused.asked, refused.by) == ("execution.edit", "alice")
    assert world.said(ExecutionEdited, ExecutionResumed) == []
    assert world.state().status == "halted"


def test_what_came_after_the_look_at_it_is_not_changed_unseen() -> None:
    world = halted()

    edit(world, inputs={"branch": "main"}, seen=1)

    assert world.said(ExecutionEdited) == []
    assert len(world.said(ExecutionRefused)) == 1


def test_what_runs_is_not_changed() -> None:
    world = World(process_of(action_step("one"), inputs=(BRANCH,)))
    world.start(inputs={"branch": "main"})

    edit(world, inputs={"branch": "other"})

    (refused,) = world.said(ExecutionRefused)
    assert "while it is paused or halted" in refused.reason
    assert world.state().begun().inputs == {"branch": "main"}


def test_a_context_that_was_compiled_of_the_old_inputs_is_compiled_anew() -> None:
    step = action_step("one", asks_model=True, breakpoint=True, parameters=GIVEN)
    world = World(process_of(step, inputs=(BRANCH,)))
    world.start(inputs={"branch": "mian"})
    world.answer(ContextCompile)
    assert world.said(ExecutionPaused)[0].reason == "breakpoint"

    edit(world, inputs={"branch": "main"})

    first, second = world.said(ContextCompile)
    assert first.parameters == {"branch": "mian"}
    assert second.parameters == {"branch": "main"}
    assert world.said(ModelInvoke) == []


@pytest.mark.parametrize("before", [None, 1.0])
def test_with_less_to_spend_the_model_of_a_prompt_that_was_not_sent_is_chosen_anew(
    before: float | None,
) -> None:
    world = World(process_of(action_step("one", asks_model=True, breakpoint=True)))
    world.start(max_cost=before)
    world.answer(ContextCompile)

    edit(world, max_cost=0.5)

    assert len(world.said(ContextCompile)) == 2
    assert world.said(ModelInvoke) == []


def test_it_goes_on_with_more_to_spend() -> None:
    steps = action_step("one", asks_model=True), action_step("two", asks_model=True)
    world = World(process_of(*steps))
    world.start(max_cost=0.25)
    world.answer(ContextCompile)
    world.answer(ModelInvoke)  # for 0.25
    world.answer(StepExecute)
    while world.open(ContextCompile):
        world.answer(ContextCompile)
    halt = world.said(ExecutionHalted)[-1]

    edit(world, max_cost=0.2)
    edit(world, max_cost=1.0)
    world.answer(ContextCompile)

    assert "`cortex execution resume x --max-cost USD`" in halt.reason
    assert "it has spent $0.25" in world.said(ExecutionRefused)[0].reason
    assert world.said(ExecutionEdited)[0].max_cost == 1.0
    assert len(world.said(ModelInvoke)) == 2


def test_what_halted_at_a_gate_is_tried_again_with_what_a_person_changed() -> None:
    world = World(process_of(action_step("one"), inputs=(BRANCH,), gates=(gate("ready"),)))
    world.start(inputs={"branch": "mian"})
    world.answer(GateEvaluate, outcome="failed", reason="there is no such branch")
    assert world.state().status == "halted"

    edit(world, inputs={"branch": "main"})

    assert world.said(ExecutionRefused) == []
    assert len(world.said(GateEvaluate)) == 2
