"""A parent and its child stand still, go on and end together; what the child took is counted."""

from typing import Any

import pytest

from cortex.bus import Event
from cortex.bus.events import (
    ContextCompile,
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionHalted,
    ExecutionPause,
    ExecutionPaused,
    ExecutionResume,
    ExecutionResumed,
    GateEvaluate,
    ModelInvoke,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
)
from cortex.runtime.processes import LinkedChild, LinkedProcess, MapOf, RunProcess

from .execution_world import World, action_step, child_step, gate, process_of
from .test_execution_failures import fail_step

INNER = process_of(action_step("deep"), action_step("deeper"), name="inner")
MIDDLE = process_of(child_step("call", "inner"), name="middle")


def family(*processes: LinkedProcess, **more: Any) -> tuple[World, str]:
    """A parent `x` of one child step, its child at work; the world and the child's id."""
    inner = processes or (INNER,)
    world = World(*inner, process_of(child_step("one", inner[0].name, **more), action_step("two")))
    world.start()
    return world, world.said(StepDelegated)[0].child


def tell(world: World, *events: Event) -> None:
    world.publish(*events)
    world.play()


def statuses(world: World, *ids: str) -> list[str]:
    return [world.state(each).status for each in ids]


@pytest.mark.parametrize("resumed_by", ["x", "child"])
def test_a_pause_of_the_parent_pauses_its_child_and_a_resume_of_either_resumes_both(
    resumed_by: str,
) -> None:
    world, child = family()

    tell(world, ExecutionPause(execution_id="x", reason="lunch"))
    world.answer(StepExecute)
    paused = statuses(world, "x", child)
    tell(world, ExecutionResume(execution_id="x" if resumed_by == "x" else child))
    resumed = statuses(world, "x", child)
    world.answer_all()

    assert (paused, resumed) == (["paused", "paused"], ["running", "running"])
    assert [event.reason for event in world.said(ExecutionPaused)] == [
        "its parent was asked to pause: lunch",
        "lunch",
    ]
    assert [e.step_id for e in world.said(StepExecute)] == ["deep", "deeper", "two"]
    assert statuses(world, "x", child) == ["completed", "completed"]


def test_a_pause_of_a_child_pauses_its_parents_up_to_the_first() -> None:
    world, middle = family(MIDDLE, INNER)
    inner = world.said(StepDelegated)[1].child

    tell(world, ExecutionPause(execution_id=inner, reason="look"))
    world.answer(StepExecute)
    paused = statuses(world, "x", middle, inner)
    tell(world, ExecutionResume(execution_id=middle))
    resumed = statuses(world, "x", middle, inner)

    assert (set(paused), set(resumed)) == ({"paused"}, {"running"})
    assert world.state().step_id == "one"
    assert world.said(ExecutionPaused)[-1].reason.endswith("paused: look")


def test_an_approval_that_a_child_waits_for_can_be_given_to_its_parent() -> None:
    inner = process_of(action_step("deep", gates=(gate("approved"),)), name="inner")
    world, child = family(inner)

    world.answer(outcome="waiting", evidence={"question": "Really?"})
    asked = world.said(ExecutionPaused)
    answer = ExecutionResume(execution_id="x", answer="approved", by="boss", gate=asked[1].gate)
    world.publish(answer, source="ada")
    world.play()

    assert [(e.execution_id, e.reason, e.question) for e in asked] == [
        (child, "approval", "Really?"),
        ("x", "approval", "Really?"),
    ]
    assert [(g.answer, g.by) for g in world.said(GateEvaluate)] == [("", ""), ("approved", "ada")]


@pytest.mark.parametrize("resumed_by", ["x", "child"])
def test_a_child_that_halted_goes_on_when_it_or_its_parent_is_resumed(resumed_by: str) -> None:
    world, child = family()

    fail_step(world)
    halted = statuses(world, "x", child)
    tell(world, ExecutionResume(execution_id="x" if resumed_by == "x" else child))
    world.answer_all()

    assert halted == ["halted", "halted"]
    assert world.said(ExecutionHalted)[1].evidence["child"] == child
    assert len(world.said(StepDelegated)) == 1
    assert [(e.step_id, e.attempt) for e in world.said(StepExecute)] == [
        ("deep", 1),
        ("deep", 2),
        ("deeper", 1),
        ("two", 1),
    ]
    assert statuses(world, "x", child) == ["completed", "completed"]


def test_a_child_that_halts_again_halts_its_parent_again() -> None:
    world, child = family()

    for _ in range(3):
        fail_step(world)
        assert statuses(world, "x", child) == ["halted", "halted"]
        tell(world, ExecutionResume(execution_id="x"))

    assert len(world.said(StepDelegated)) == 1


@pytest.mark.parametrize("how", ["pause", "halt"])
def test_a_cancel_of_a_parent_that_stands_still_cancels_its_child(how: str) -> None:
    world, child = family()
    if how == "pause":
        tell(world, ExecutionPause(execution_id="x"))
        world.answer(StepExecute)
    else:
        fail_step(world)

    tell(world, ExecutionCancel(execution_id="x", reason="enough"))

    assert statuses(world, "x", child) == ["cancelled", "cancelled"]
    assert world.deadlines == {}


@pytest.mark.parametrize("how", ["pause", "halt"])
def test_a_child_that_is_cancelled_while_both_stand_still_is_replaced_on_a_resume(how: str) -> None:
    world, child = family()
    if how == "pause":
        tell(world, ExecutionPause(execution_id="x"))
        world.answer(StepExecute)
    else:
        fail_step(world)

    tell(world, ExecutionCancel(execution_id=child))
    between = world.state().status
    tell(world, ExecutionResume(execution_id="x"))

    assert between == {"pause": "paused", "halt": "halted"}[how]
    assert [each.attempt for each in world.said(StepDelegated)] == [1, 2]
    assert world.state().status == "running"


def test_a_resume_before_the_pause_was_taken_takes_it_back_for_both() -> None:
    world, child = family()

    tell(world, ExecutionPause(execution_id="x"))
    tell(world, ExecutionResume(execution_id="x"))
    world.answer_all()

    assert world.said(ExecutionPaused) == []
    assert len(world.said(ExecutionResumed)) == 2
    assert statuses(world, "x", child) == ["completed", "completed"]


def test_a_resume_before_the_start_takes_the_pause_back() -> None:
    world = World(process_of(action_step("one")))
    world.begin_requests = False
    world.start()
    tell(world, ExecutionPause(execution_id="x"), ExecutionResume(execution_id="x"))

    world.begin(world.open_request("x"))
    world.play()

    assert world.state().stage == "handler"


def test_the_time_of_a_step_does_not_count_while_its_child_stands_still() -> None:
    world, child = family(timeout_s=9.0)
    tell(world, ExecutionPause(execution_id=child))

    world.answer(StepExecute)
    paused = dict(world.deadlines)
    tell(world, ExecutionResume(execution_id="x"))
    resumed = dict(world.deadlines)

    assert paused == {}
    assert [name.rpartition("/")[2] for name in resumed] == ["timeout"]


def test_a_child_that_cleans_up_pauses_with_its_parent() -> None:
    tidy = process_of(action_step("a"), action_step("b"), name="tidy")
    cleanup = RunProcess(LinkedChild(process="tidy", digest="d"), MapOf(()))
    world = World(tidy, process_of(action_step("one", on_failure=cleanup)))
    world.start()
    fail_step(world)
    child = world.said(StepDelegated)[0].child

    tell(world, ExecutionPause(execution_id="x"))
    world.answer(StepExecute)
    paused = statuses(world, "x", child)
    tell(world, ExecutionResume(execution_id="x"))
    world.answer_all()

    assert paused == ["paused", "paused"]
    assert statuses(world, "x", child) == ["failed", "completed"]


def test_what_others_say_of_a_child_in_the_engines_words_does_not_reach_its_parent() -> None:
    world, child = family()

    tell(
        world,
        ExecutionCompleted(execution_id=child, outputs={"forged": True}),
        ExecutionPaused(execution_id=child, reason="forged"),
        ExecutionHalted(execution_id=child, reason="forged"),
        ExecutionCancelled(execution_id=child, reason="forged"),
    )

    assert world.said(StepCompleted) == world.said(StepFailed) == []
    assert statuses(world, "x", child) == ["running", "running"]


# Tokens.

ASKING = process_of(action_step("ask", asks_model=True), name="asking")
TAKEN = 107  # of a context and an answer in this world


def test_what_children_took_counts_for_their_parents_apart_from_what_is_their_own() -> None:
    middle = process_of(
        child_step("call", "asking"), action_step("self", asks_model=True), name="middle"
    )
    world, child = family(middle, ASKING)

    world.answer_all()

    counted = {e.execution_id: (e.tokens, e.own_tokens) for e in world.said(ExecutionCompleted)}
    assert counted["x"] == (2 * TAKEN, 0)
    assert counted[child] == (2 * TAKEN, TAKEN)
    assert (world.state().tokens, world.state().own_tokens) == counted["x"]


def test_what_a_child_took_that_was_left_behind_counts_as_well() -> None:
    asking = process_of(action_step("ask", asks_model=True), action_step("deep"), name="asking")
    world, child = family(asking, timeout_s=9.0)
    world.answer(ContextCompile)
    world.answer(ModelInvoke)

    world.fire()
    world.play()

    assert world.state(child).status == "cancelled"
    assert world.state().tokens == TAKEN


def test_what_a_grandchild_took_reaches_parents_that_were_cancelled_before_it() -> None:
    asking = process_of(action_step("ask", asks_model=True), action_step("deep"), name="asking")
    middle = process_of(child_step("call", "asking"), name="middle")
    world, child = family(middle, asking)
    world.answer(ContextCompile)
    world.answer(ModelInvoke)

    tell(world, ExecutionCancel(execution_id="x"))

    assert statuses(world, "x", child) == ["cancelled", "cancelled"]
    assert world.state().tokens == world.state(child).tokens == TAKEN
    assert world.state().own_tokens == 0


# Gates that never answer.


@pytest.mark.parametrize("of_step", [True, False])
def test_a_gate_that_never_answers_halts_with_a_clear_reason_and_is_asked_again(
    of_step: bool,
) -> None:
    gates = (gate("g"), gate("h"))
    step = action_step("one", gates=gates if of_step else ())
    world = World(process_of(step, gates=() if of_step else gates))
    world.start()
    world.answer(GateEvaluate)

    world.fire()
    world.play()
    halted = world.said(ExecutionHalted)[0]
    late = world.answers()[0]
    tell(world, ExecutionResume(execution_id="x"), late)

    assert halted.gate == "h"
    assert halted.reason.startswith("gate h did not answer within 900 s: ")
    assert [(g.gate, g.attempt) for g in world.said(GateEvaluate)] == [
        ("g", 1),
        ("h", 1),
        ("h", 2),
    ]
    assert world.state().stage == "gate"


def test_a_gate_that_answers_leaves_no_deadline_and_a_late_one_stops_nothing() -> None:
    world = World(process_of(action_step("one", gates=(gate("g"), gate("h")))))
    world.start()
    late = dict(world.deadlines)
    world.answer(GateEvaluate)
    world.deadlines = late | world.deadlines

    world.fire()
    world.play()
    asked = world.state().stage
    world.answer(GateEvaluate)

    assert asked == "gate"
    assert world.deadlines == {}
    assert world.said(ExecutionHalted) == []


def test_a_cancel_drops_the_deadline_of_a_gate() -> None:
    world = World(process_of(action_step("one", gates=(gate("g"),))))
    world.start()

    tell(world, ExecutionCancel(execution_id="x"))

    assert world.deadlines == {}
