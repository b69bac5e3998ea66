"""Waiting for a person: pauses, approvals, breakpoints; and work that has no process."""

from typing import Any

import pytest

from cortex.bus import Draft
from cortex.bus.events import (
    ActionObserved,
    ContextCompile,
    ExecutionCompleted,
    ExecutionFinish,
    ExecutionHalted,
    ExecutionPause,
    ExecutionPaused,
    ExecutionRequest,
    ExecutionResume,
    ExecutionResumed,
    GateEvaluate,
    ModelInvoke,
    StepCompleted,
    StepExecute,
    StepFailed,
    StepUnclaimed,
)
from cortex.runtime.processes import Retry

from .execution_world import World, action_step, answer_to, child_step, gate, process_of
from .test_execution_failures import fail_step


def resume(world: World, **fields: Any) -> None:
    source = fields.pop("source", "somebody")
    world.publish(ExecutionResume(execution_id="x", **fields), source=source)
    world.play()


def pause(world: World, **fields: Any) -> None:
    world.publish(ExecutionPause(execution_id="x", **fields))
    world.play()


def test_a_waiting_gate_pauses_and_is_asked_again_with_the_answer() -> None:
    world = World(process_of(action_step("one", gates=(gate("approved"), gate("b")))))

    world.start()
    world.answer(outcome="waiting", reason="?", evidence={"question": "Delete everything?"})
    paused = world.said(ExecutionPaused)[0]
    resume(world, answer="approved", gate="p/approved", source="ada/desk", note="fine")
    world.answer_all()

    assert (paused.reason, paused.step_id, paused.question) == (
        "approval",
        "one",
        "Delete everything?",
    )
    asked = [(g.gate, g.attempt, g.answer, g.by) for g in world.said(GateEvaluate)]
    assert asked == [("approved", 1, "", ""), ("approved", 2, "approved", "ada"), ("b", 1, "", "")]
    assert world.said(ExecutionResumed)[0].note == "fine"
    assert world.state().status == "completed"


def test_a_denied_approval_halts_and_a_later_resume_does_not_repeat_the_old_answer() -> None:
    world = World(process_of(action_step("one", gates=(gate("approved"),))))
    world.start()
    world.answer(outcome="waiting", reason="Really?")

    resume(world, answer="denied", gate="p/approved", source="ada")
    world.answer(outcome="failed", reason="ada said no")
    resume(world)

    assert world.said(ExecutionHalted)[0].reason == "gate approved did not pass: ada said no"
    assert [g.answer for g in world.said(GateEvaluate)] == ["", "denied", ""]


def test_an_answer_given_to_something_else_does_not_reach_a_gate() -> None:
    world = World(process_of(action_step("one"), action_step("two", gates=(gate("approved"),))))
    world.start()
    pause(world)
    world.answer()

    resume(world, answer="approved", source="eve")

    assert [g.answer for g in world.said(GateEvaluate)] == [""]


WAITS = process_of(action_step("one", gates=(gate("approved"),)))


@pytest.mark.parametrize(
    "forged",
    [
        {"answer": "approved", "by": "ada"},
        {"answer": "approved", "by": "ada", "gate": "p/another"},
        {"answer": "approved", "gate": "another/approved"},
        {"answer": "approved", "gate": "p/approved", "from_step": "one"},
        {"gate": "p/approved"},
    ],
)
def test_what_does_not_answer_the_gate_that_asks_leaves_it_asking(forged: dict[str, Any]) -> None:
    world = World(WAITS)
    world.start()
    world.answer(outcome="waiting", reason="?")

    resume(world, **forged)

    assert world.state().status == "paused"
    assert len(world.said(GateEvaluate)) == 1


def test_the_answer_to_a_gate_resumes_nothing_else() -> None:
    world = World(process_of(action_step("one"), action_step("two")))
    world.start()
    pause(world)
    world.answer()

    resume(world, answer="approved", gate="p/approved")

    assert world.state().status == "paused"


def test_only_the_component_that_was_asked_answers_for_a_gate() -> None:
    world = World(WAITS)
    world.start()
    (_, asked) = world.open(GateEvaluate)[0]

    world.append(Draft.of(answer_to(asked)), "Somebody")
    world.play()
    before = world.state().stage
    world.restart()
    world.append(Draft.of(answer_to(asked)), "Gates/1")
    world.play()

    assert (before, world.state().stage) == ("gate", "handler")


def test_who_asked_for_a_child_is_who_asked_for_its_parent() -> None:
    child = process_of(action_step("deep", gates=(gate("approved"),)), name="inner")
    world = World(process_of(child_step("one", "inner")), child)

    world.publish(
        ExecutionRequest(execution_id="x", process="p", requested_by="boss"), source="bob"
    )
    world.play()

    assert [g.requested_by for g in world.said(GateEvaluate)] == ["bob"]


def test_a_pause_lets_the_step_finish_and_stops_before_the_next() -> None:
    world = World(process_of(action_step("one", asks_model=True), action_step("two")))

    world.start()
    pause(world, reason="lunch")
    world.answer_all()
    paused = world.said(ExecutionPaused)
    assert world.state().statuses == {"one": "completed"}
    resume(world)
    world.answer_all()

    assert [(event.reason, event.step_id) for event in paused] == [("lunch", "two")]
    assert world.state().status == "completed"


def test_a_pause_between_two_attempts_is_taken_at_once_and_the_resume_tries_again() -> None:
    world = World(process_of(action_step("one", retry=Retry(attempts=2, backoff_s=60))))

    world.start()
    fail_step(world)
    pause(world)
    assert world.state().status == "paused"
    assert world.deadlines == {}
    resume(world)
    world.answer_all()

    assert [asked.attempt for asked in world.said(StepExecute)] == [1, 2]
    assert world.state().status == "completed"


def test_a_pause_during_an_attempt_that_fails_stops_before_the_next_attempt() -> None:
    world = World(process_of(action_step("one", retry=Retry(attempts=2, backoff_s=60))))

    world.start()
    pause(world)
    fail_step(world)
    paused = world.state().status
    resume(world)

    assert paused == "paused"
    assert [asked.attempt for asked in world.said(StepExecute)] == [1, 2]


def test_a_pause_before_the_start_stops_before_the_first_gate() -> None:
    world = World(process_of(action_step("one"), gates=(gate("g"),)))
    world.begin_requests = False
    world.start()
    pause(world)

    world.begin(world.open_request("x"))
    world.play()
    before = world.said(GateEvaluate)
    resume(world)

    assert before == []
    assert len(world.said(GateEvaluate)) == 1


def test_a_second_resume_and_a_second_pause_change_nothing() -> None:
    world = World(process_of(action_step("one"), action_step("two")))
    world.start()
    pause(world)
    pause(world)
    world.answer()

    resume(world)
    resume(world)

    assert len(world.said(ExecutionPaused)) == len(world.said(ExecutionResumed)) == 1
    assert [asked.step_id for asked in world.said(StepExecute)] == ["one", "two"]


def test_a_breakpoint_shows_the_prompt_before_it_is_sent() -> None:
    world = World(process_of(action_step("one", asks_model=True, breakpoint=True)))

    world.start()
    world.answer(ContextCompile)
    paused = world.said(ExecutionPaused)[0]
    sent = world.said(ModelInvoke)
    resume(world)
    world.answer_all()

    assert (paused.reason, paused.prompt) == ("breakpoint", "prompt of one/1")
    assert sent == []
    assert len(world.said(ContextCompile)) == len(world.said(ModelInvoke)) == 1
    assert world.state().status == "completed"


def test_a_breakpoint_asked_for_with_the_request_pauses_before_the_handler_is_asked() -> None:
    world = World(process_of(action_step("one", gates=(gate("g"),)), action_step("two")))

    world.start(breakpoints=("one",))
    world.answer(GateEvaluate)
    asked = world.said(StepExecute)
    resume(world)
    world.answer_all()

    assert asked == []
    assert len(world.said(GateEvaluate)) == 1
    assert world.state().status == "completed"


def test_a_breakpoint_stops_once_and_not_at_every_attempt() -> None:
    retry = Retry(attempts=2, backoff_s=0)
    step = action_step("one", asks_model=True, breakpoint=True, retry=retry)
    world = World(process_of(step))

    world.start()
    world.answer(ContextCompile)
    resume(world)
    world.answer(ModelInvoke)
    fail_step(world)
    world.answer_all()

    assert len(world.said(ExecutionPaused)) == 1
    assert world.state().status == "completed"


@pytest.mark.parametrize("asks_model", [True, False])
def test_the_time_at_a_breakpoint_does_not_count(asks_model: bool) -> None:
    step = action_step("one", asks_model=asks_model, breakpoint=True, timeout_s=5.0)
    world = World(process_of(step))

    world.start()
    if asks_model:
        world.answer(ContextCompile)
    before = dict(world.deadlines)
    resume(world)

    assert before == {}
    assert len(world.deadlines) == 1


def test_what_an_adhoc_execution_does_is_observed() -> None:
    world = World()
    world.start("", goal="look around")
    asked = StepExecute(execution_id="x", step_id="1", action="shell", parameters={"run": "ls"})
    failing = StepExecute(execution_id="x", step_id="2", action="read")

    world.publish(asked, failing)
    world.publish(
        StepCompleted(execution_id="x", step_id="1", result={"code": 0}),
        StepFailed(execution_id="x", step_id="2", error="no such file"),
        StepCompleted(execution_id="x", step_id="1"),
        StepCompleted(execution_id="x", step_id="3"),
    )
    world.play()

    seen = [(event.action, event.parameters, event.outcome) for event in world.said(ActionObserved)]
    assert seen == [("shell", {"run": "ls"}, "completed"), ("read", {}, "failed")]
    assert world.state().status == "running"
    assert world.state().results["1"] == {"code": 0}


def test_an_adhoc_execution_ends_when_it_is_finished() -> None:
    world = World()
    world.start("", goal="look around")

    world.publish(ExecutionFinish(execution_id="x", outputs={"answer": 42}, by="ada"))
    world.play()

    assert world.said(ExecutionCompleted)[0].outputs == {"answer": 42}
    assert world.state().status == "completed"


def test_an_execution_with_a_process_is_not_ended_by_finish() -> None:
    world = World(process_of(action_step("one")))
    world.start()

    world.publish(ExecutionFinish(execution_id="x"))
    world.play()

    assert world.state().status == "running"


def test_what_nobody_started_is_left_alone() -> None:
    world = World()

    world.publish(ExecutionResume(execution_id="no"), ExecutionPause(execution_id="no"))
    world.publish(StepCompleted(execution_id="no", step_id="one"))
    world.play()

    assert len(world.records) == 3


def unclaimed(world: World) -> None:
    world.publish(StepUnclaimed(execution_id="x", step_id="one", action="work", waited_s=5))
    world.play()


@pytest.mark.parametrize("told_first", [True, False])
def test_a_pause_while_nobody_takes_the_step_is_taken_at_once_and_the_resume_waits_on(
    told_first: bool,
) -> None:
    world = World(process_of(action_step("one", timeout_s=60), action_step("two")))
    world.start()

    for happens in (unclaimed, pause) if told_first else (pause, unclaimed):
        happens(world)
    paused = world.state()
    deadlines = dict(world.deadlines)
    resume(world)
    asked = len(world.said(StepExecute))
    again = dict(world.deadlines)
    world.answer_all()

    assert (paused.status, paused.step_id) == ("paused", "one")
    assert (deadlines, list(again)) == ({}, ["execution/x/one/1/timeout"])
    assert asked == 1  # what was asked stands, for whoever comes
    assert world.state().status == "completed"


def test_a_step_that_is_taken_during_a_pause_is_kept_and_looked_at_on_resume() -> None:
    world = World(process_of(action_step("one"), action_step("two")))
    world.start()
    unclaimed(world)
    pause(world)

    world.answer()
    during = world.state()
    resume(world)
    world.answer_all()

    assert (during.status, during.statuses) == ("paused", {"one": "completed"})
    assert [asked.step_id for asked in world.said(StepExecute)] == ["one", "two"]
    assert world.state().status == "completed"


def test_a_step_that_fails_during_a_pause_is_tried_again_on_resume() -> None:
    world = World(process_of(action_step("one")))
    world.start()
    unclaimed(world)
    pause(world)

    fail_step(world)
    during = world.state()
    resume(world)
    world.answer_all()

    assert (during.status, during.stage) == ("paused", "failed")
    assert [asked.attempt for asked in world.said(StepExecute)] == [1, 2]
    assert world.state().status == "completed"
