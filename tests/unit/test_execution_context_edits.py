"""A person changes the prompt that a breakpoint shows: it is compiled again, and shown again."""

from typing import Any

import pytest

from cortex.bus.events import (
    ContextCompile,
    ContextEdit,
    ContextEdited,
    ContextRefused,
    ExecutionEdit,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResume,
    ModelInvoke,
    StepExecute,
    StepFailed,
    StepSettle,
)
from cortex.runtime.processes import Field, Retry

from .execution_world import World, action_step, process_of

EDIT = {"section": "step", "item": "", "old": "five words", "new": "ten words"}
FIRST, AGAIN = "prompt of one/1", "prompt with ten words"


def at_breakpoint(max_cost: float | None = None, **more: Any) -> World:
    world = World(process_of(action_step("one", asks_model=True, breakpoint=True, **more)))
    world.start(max_cost=max_cost)
    world.answer(ContextCompile)
    return world


def edit(world: World, **more: Any) -> None:
    given = {"prompt": FIRST, "edits": (EDIT,), **more}
    world.publish(ContextEdit(execution_id="x", **given), source="alice")
    world.play()


@pytest.mark.parametrize("restarted", [False, True])
def test_the_prompt_is_compiled_with_the_edit_and_shown_before_it_is_sent(restarted: bool) -> None:
    world = at_breakpoint()

    edit(world, note="too short")
    if restarted:
        world.restart()
    world.answer(ContextCompile, prompt=AGAIN)

    first, second = world.said(ContextCompile)
    assert (first.edits, second.new_edits) == ((), 1)
    assert second.edits == ({**EDIT, "by": "alice", "note": "too short"},)
    assert (second.attempt, second.turn) == (1, 0)
    (edited,) = world.said(ContextEdited)
    assert (edited.by, edited.note, edited.edits) == ("alice", "too short", (EDIT,))
    assert (edited.before, edited.prompt) == (FIRST, AGAIN)
    assert [each.prompt for each in world.said(ExecutionPaused)] == [FIRST, AGAIN]
    assert world.said(ModelInvoke) == []
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    assert world.said(ModelInvoke)[0].prompt == AGAIN


@pytest.mark.parametrize("restarted", [False, True])
def test_an_edit_that_makes_no_prompt_leaves_the_one_that_stood(restarted: bool) -> None:
    world = at_breakpoint()

    edit(world)
    if restarted:
        world.restart()
    position, asked = world.open(ContextCompile)[0]
    reason = "step takes 9,000 tokens"
    world.settle(position, ContextRefused(execution_id="x", step_id="one", reason=reason))

    (refused,) = world.said(ExecutionRefused)
    assert asked.new_edits == 1
    assert reason in refused.reason
    assert (refused.asked, refused.by) == ("context.edit", "alice")
    assert world.said(ContextEdited) == world.said(StepFailed) == []
    assert world.state().status == "paused"
    assert world.state().edits == {"one": ()}
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    assert world.said(ModelInvoke)[0].prompt == FIRST


def test_a_compiler_that_cannot_even_refuse_leaves_the_prompt_that_stood() -> None:
    world = at_breakpoint()

    edit(world)
    world.park(world.open(ContextCompile)[0][0])
    world.play()

    assert world.said(StepFailed) == []
    assert world.state().status == "paused"
    assert world.said(ExecutionPaused)[-1].prompt == FIRST


def test_later_prompts_of_the_step_have_the_edit_too() -> None:
    world = at_breakpoint(retry=Retry(attempts=2))
    edit(world)
    world.answer(ContextCompile, prompt=AGAIN)
    edit(world, prompt=AGAIN, edits=({**EDIT, "old": "ten words", "new": "six"},))
    world.answer(ContextCompile, prompt="prompt with six")
    world.publish(ExecutionResume(execution_id="x"))
    world.play()

    world.answer(ModelInvoke)
    position, asked = world.open(StepExecute)[-1]
    failed = StepFailed(execution_id="x", step_id="one", attempt=1, error="no")
    world.settle(position, failed)
    world.drain()

    last = world.said(ContextCompile)[-1]
    assert asked.attempt == 1
    assert last.attempt == 2
    assert [each["new"] for each in last.edits] == ["ten words", "six"]
    assert last.new_edits == 0


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"prompt": "another"}, "the prompt that waits to be sent is not"),
        ({"edits": ()}, "it would change nothing"),
        ({"edits": ({**EDIT, "old": ""},)}, "the old text is not empty"),
        ({"edits": ({"section": "step"},)}, "an edit has section, item, old, new"),
        ({"edits": ({**EDIT, "old": "key: ⟦secret***⟧"},)}, "may not change a masked secret"),
        ({"edits": ({**EDIT, "new": "key: ⟦secret***⟧"},)}, "may not add a secret"),
        ({"seen": 1}, "it stopped after the position"),
    ],
)
def test_an_edit_is_taken_whole_or_refused_whole(more: dict[str, Any], reason: str) -> None:
    world = at_breakpoint()

    edit(world, **more)

    assert reason in world.said(ExecutionRefused)[0].reason
    assert len(world.said(ContextCompile)) == 1
    assert world.state().status == "paused"


def test_what_is_not_shown_by_a_breakpoint_is_not_edited() -> None:
    world = World(process_of(action_step("one", breakpoint=True)))
    world.start()

    edit(world)

    assert "no prompt waits to be sent" in world.said(ExecutionRefused)[0].reason


def test_a_second_edit_waits_until_the_first_is_shown() -> None:
    world = at_breakpoint()

    edit(world)
    edit(world)
    world.answer(ContextCompile, prompt=AGAIN)

    assert len(world.said(ExecutionRefused)) == 1
    assert len(world.said(ContextEdited)) == 1
    assert len(world.said(ContextCompile)) == 2


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        ExecutionEdit(execution_id="x", inputs={"a": "other"}),
        ExecutionResume(execution_id="x", from_step="one"),
        ExecutionResume(execution_id="x", from_step="zero"),
        StepSettle(execution_id="x", step_id="zero", outcome="replaced", result={"by": "me"}),
    ],
)
def test_what_a_person_changes_at_a_breakpoint_is_shown_before_it_is_sent(
    change: Any, restarted: bool
) -> None:
    world = World(
        process_of(
            action_step("zero"),
            action_step("one", asks_model=True, breakpoint=True),
            inputs=(Field(name="a", type="string", required=False),),
        )
    )
    world.start()
    world.answer()
    world.answer(ContextCompile)
    edit(world)
    world.answer(ContextCompile, prompt=AGAIN)

    world.publish(change, source="alice")
    world.play()
    if restarted:
        world.restart()
    if world.open(StepExecute):
        world.answer(StepExecute)
    world.answer(ContextCompile, prompt="the third")

    assert world.said(ModelInvoke) == []
    assert world.said(ContextCompile)[-1].edits == ({**EDIT, "by": "alice", "note": ""},)
    assert (world.state().status, world.state().reason) == ("paused", "breakpoint")
    assert world.said(ExecutionPaused)[-1].prompt == "the third"
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    assert [each.prompt for each in world.said(ModelInvoke)] == ["the third"]


def test_a_halted_step_with_other_inputs_shows_its_prompt_before_it_is_sent() -> None:
    inputs = (Field(name="a", type="string", required=False),)
    world = World(process_of(action_step("one", asks_model=True, breakpoint=True), inputs=inputs))
    world.start()
    world.answer(ContextCompile)
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    world.answer(ModelInvoke)
    failed = StepFailed(execution_id="x", step_id="one", attempt=1, error="no")
    world.settle(world.open(StepExecute)[0][0], failed)

    world.publish(ExecutionEdit(execution_id="x", inputs={"a": "other"}), source="alice")
    world.play()
    world.answer(ContextCompile)

    assert len(world.said(ModelInvoke)) == 1
    assert world.said(ExecutionPaused)[-1].prompt == "prompt of one/2"


def test_more_to_spend_sends_the_prompt_that_was_shown() -> None:
    world = at_breakpoint(max_cost=1.0)

    world.publish(ExecutionEdit(execution_id="x", max_cost=3.0), source="alice")
    world.play()

    assert [each.prompt for each in world.said(ModelInvoke)] == [FIRST]
    assert len(world.said(ContextCompile)) == 1
