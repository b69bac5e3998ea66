"""What an execution does when something goes wrong: retries, timeouts, on_failure, late answers."""

from typing import Any

import pytest

from cortex.bus.events import (
    ContextCompile,
    ContextRefused,
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionResume,
    GateEvaluated,
    ModelFailed,
    ModelInvoke,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepSkipped,
)
from cortex.runtime.processes import Continue, GoTo, LinkedChild, MapOf, Ref, Retry, RunProcess
from cortex.runtime.processes.execution import wait_before_retry

from .execution_world import (
    SECOND_NS,
    World,
    action_step,
    child_step,
    constant,
    gate,
    process_of,
    text,
)


def fail_step(world: World, **fields: Any) -> None:
    position, asked = world.open(StepExecute)[0]
    fields = {"error": "it broke", "attempt": asked.attempt} | fields
    failed = StepFailed(execution_id=asked.execution_id, step_id=asked.step_id, **fields)
    world.settle(position, failed)


def test_a_failed_step_halts_the_execution_with_reason_and_evidence() -> None:
    world = World(process_of(action_step("one"), action_step("two")))

    world.start()
    fail_step(world)

    halted = world.said(ExecutionHalted)[0]
    assert (halted.reason, halted.step_id) == ("it broke", "one")
    assert halted.evidence == {"kind": "failed", "attempt": 1}
    assert len(world.said(StepExecute)) == 1


def test_a_failed_step_is_tried_again_after_its_backoff() -> None:
    world = World(process_of(action_step("one", retry=Retry(attempts=3, backoff_s=2, factor=3))))

    world.start()
    started_ns = world.now_ns
    fail_step(world)
    assert len(world.said(StepExecute)) == 1
    world.fire()
    world.play()
    first_wait_ns = world.now_ns - started_ns
    fail_step(world)
    world.fire()
    world.play()
    world.answer_all()

    assert 2 * SECOND_NS <= first_wait_ns < 3 * SECOND_NS
    assert world.now_ns - started_ns >= 8 * SECOND_NS
    assert [asked.attempt for asked in world.said(StepExecute)] == [1, 2, 3]
    assert world.state().status == "completed"


def test_without_backoff_the_next_attempt_begins_at_once() -> None:
    world = World(process_of(action_step("one", retry=Retry(attempts=2, backoff_s=0))))

    world.start()
    fail_step(world)

    assert [asked.attempt for asked in world.said(StepExecute)] == [1, 2]


def test_a_new_attempt_asks_the_model_anew_and_not_twice_within_one() -> None:
    step = action_step("one", asks_model=True, retry=Retry(attempts=2, backoff_s=0))
    world = World(process_of(step))

    world.start()
    world.answer(ContextCompile)
    world.answer(ModelInvoke)
    fail_step(world)
    world.answer_all()

    assert [asked.attempt for asked in world.said(ContextCompile)] == [1, 2]
    assert [asked.prompt for asked in world.said(ModelInvoke)] == [
        "prompt of one/1",
        "prompt of one/2",
    ]


@pytest.mark.parametrize(
    ("retry", "tries", "fields", "wait_s"),
    [
        (Retry(attempts=2), 1, {}, 1.0),
        (Retry(attempts=2), 2, {}, None),
        (Retry(attempts=9, backoff_s=1, factor=2), 4, {}, 8.0),
        (Retry(attempts=100, backoff_s=1, factor=100), 99, {}, 300.0),
        (Retry(attempts=9), 1, {"retry": False}, None),
        (Retry(attempts=9, on=("timeout",)), 1, {}, None),
        (Retry(attempts=9, on=("timeout",)), 1, {"kind": "timeout"}, 1.0),
    ],
)
def test_the_wait_before_a_retry(
    retry: Retry, tries: int, fields: dict[str, Any], wait_s: float | None
) -> None:
    failed = StepFailed(execution_id="x", step_id="one", error="e", **fields)

    assert wait_before_retry(retry, tries, failed) == wait_s


def test_on_failure_continue_goes_on_with_the_failure_recorded() -> None:
    world = World(process_of(action_step("one", on_failure=Continue()), action_step("two")))

    world.start()
    fail_step(world)
    world.answer_all()

    assert world.state().statuses == {"one": "failed", "two": "completed"}
    assert world.state().status == "completed"


def test_on_failure_step_goes_on_there_and_skips_those_between() -> None:
    steps = [action_step("one", on_failure=GoTo("four"))]
    steps += [action_step(each) for each in ("two", "three", "four")]
    world = World(process_of(*steps))

    world.start()
    fail_step(world)
    world.answer_all()

    assert [event.step_id for event in world.said(StepSkipped)] == ["two", "three"]
    assert [event.step_id for event in world.said(StepExecute)] == ["one", "four"]


def test_on_failure_process_cleans_up_and_then_fails() -> None:
    child = LinkedChild(process="tidy", digest="d")
    cleanup = RunProcess(child, MapOf((("step", constant("one")),)))
    tidy = process_of(action_step("sweep"), name="tidy")
    world = World(process_of(action_step("one", on_failure=cleanup), action_step("two")), tidy)

    world.start()
    fail_step(world)
    assert world.state().stage == "cleanup"
    world.answer_all()

    assert world.said(StepDelegated)[0].purpose == "cleanup"
    failed = world.said(ExecutionFailed)[0]
    assert (failed.execution_id, failed.step_id) == ("x", "one")
    assert failed.reason.startswith("it broke; cleaning up: execution ")
    assert failed.reason.endswith(" completed")


def test_a_step_that_runs_out_of_time_fails_by_its_deadline() -> None:
    world = World(process_of(action_step("one", timeout_s=5.0, on_failure=Continue())))

    world.start()
    world.fire()
    world.play()

    failed = world.said(StepFailed)[0]
    assert (failed.kind, failed.attempt) == ("timeout", 1)
    assert world.state().status == "completed"


def test_an_answer_in_time_drops_the_deadline() -> None:
    world = World(process_of(action_step("one", timeout_s=5.0), action_step("two")))

    world.start()
    world.answer()

    assert world.deadlines == {}


def test_an_answer_after_the_timeout_changes_nothing() -> None:
    world = World(process_of(action_step("one", timeout_s=5.0)))

    world.start()
    world.fire()
    world.play()
    before, said = world.state(), len(world.said())
    world.answer()

    assert world.state() == before
    assert len(world.said()) == said + 1  # the late answer itself
    assert before.status == "halted"


def test_a_deadline_that_came_too_late_changes_nothing() -> None:
    world = World(process_of(action_step("one", timeout_s=5.0), action_step("two")))
    world.start()
    late = dict(world.deadlines)

    world.answer()
    world.deadlines = late
    world.fire()
    world.play()

    assert world.said(StepFailed) == []
    assert world.state().step_id == "two"


def test_a_second_answer_changes_nothing() -> None:
    world = World(process_of(action_step("one"), action_step("two")))
    world.start()
    world.answer()
    before = world.state()

    twice = StepCompleted(execution_id="x", step_id="one", result={"by": "twice"})
    world.publish(twice, source="Worker")
    world.play()

    assert world.state() == before
    assert len(world.said(StepExecute)) == 2


def test_a_refused_context_fails_the_step_without_a_retry() -> None:
    step = action_step("one", asks_model=True, retry=Retry(attempts=5, backoff_s=0))
    world = World(process_of(step))

    world.start()
    position, _ = world.open(ContextCompile)[0]
    world.settle(position, ContextRefused(execution_id="x", step_id="one", reason="too big"))

    failed = world.said(StepFailed)[0]
    assert (failed.error, failed.kind, failed.retry) == ("too big", "refused", False)
    assert world.state().status == "halted"
    assert world.said(ModelInvoke) == []


@pytest.mark.parametrize(("retry", "attempts"), [(True, 2), (False, 1)])
def test_a_model_that_fails_fails_the_attempt(retry: bool, attempts: int) -> None:
    step = action_step("one", asks_model=True, retry=Retry(attempts=2, backoff_s=0))
    world = World(process_of(step))

    world.start()
    world.answer(ContextCompile)
    position, asked = world.open(ModelInvoke)[0]
    failed = ModelFailed(
        execution_id="x", step_id="one", model=asked.model, error="overloaded", retry=retry
    )
    world.settle(position, failed)

    assert len(world.said(ContextCompile)) == attempts
    assert world.said(StepFailed)[0].error == "overloaded"


def test_parameters_with_a_hole_in_them_refuse_the_step() -> None:
    hole = MapOf((("path", text((constant("in "), Ref(("inputs", "folder"))))),))
    world = World(process_of(action_step("one", parameters=hole)))

    world.start()

    failed = world.said(StepFailed)[0]
    assert (failed.kind, failed.retry) == ("refused", False)
    assert "inputs.folder has no value here" in failed.error
    assert world.state().status == "halted"


def test_a_failed_gate_halts_and_a_resume_asks_it_again() -> None:
    world = World(process_of(action_step("one", gates=(gate("clean"), gate("b")))))

    world.start()
    world.answer(outcome="failed", reason="2 files changed", evidence={"files": ["a", "b"]})
    halted = world.said(ExecutionHalted)[0]
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    world.answer_all()

    assert halted.reason == "gate clean did not pass: 2 files changed"
    assert (halted.gate, halted.step_id) == ("clean", "one")
    assert halted.evidence == {"files": ["a", "b"]}
    assert [(e.gate, e.attempt) for e in world.said(GateEvaluated)] == [
        ("clean", 1),
        ("clean", 2),
        ("b", 1),
    ]
    assert world.state().status == "completed"


def test_a_resume_after_a_failed_step_tries_it_again_with_all_its_attempts() -> None:
    step = action_step("one", gates=(gate("g"),), retry=Retry(attempts=2, backoff_s=0))
    world = World(process_of(step))

    world.start()
    world.answer()
    fail_step(world)
    fail_step(world)
    assert world.state().status == "halted"
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    fail_step(world)
    world.answer_all()

    assert [asked.attempt for asked in world.said(StepExecute)] == [1, 2, 3, 4]
    assert len(world.said(GateEvaluated)) == 1
    assert world.state().status == "completed"


def test_a_child_that_halts_or_is_refused_fails_the_step_of_its_parent() -> None:
    inner = process_of(action_step("deep"), name="inner")
    world = World(inner, process_of(child_step("one", "inner")))

    world.start()
    fail_step(world)

    failed = world.said(StepFailed)[1]
    assert (failed.execution_id, failed.step_id) == ("x", "one")
    assert failed.error.endswith("halted: it broke")
    assert world.state().status == "halted"


def test_a_child_that_was_never_started_fails_the_step_of_its_parent() -> None:
    world = World(process_of(child_step("one", "inner")))
    world.begin_requests = False
    world.start()
    world.begin(world.open_request("x"))
    world.play()
    child = world.said(StepDelegated)[0].child

    refused = ExecutionFailed(execution_id=child, reason="there is no process inner")
    world.publish(refused, source="ProcessManager")
    world.play()

    assert world.state(child).parent == "x"
    assert world.said(StepFailed)[0].error.endswith("failed: there is no process inner")


def test_cancel_reaches_the_child_and_drops_deadlines() -> None:
    inner = process_of(action_step("deep", timeout_s=60.0), name="inner")
    world = World(inner, process_of(child_step("one", "inner", timeout_s=90.0)))
    world.start()
    assert len(world.deadlines) == 2

    world.publish(ExecutionCancel(execution_id="x", reason="enough"))
    world.play()

    cancelled = world.said(ExecutionCancelled)
    assert [event.reason for event in cancelled] == ["enough", "its parent was cancelled: enough"]
    assert world.deadlines == {}
    assert world.said(StepFailed) == []


def test_a_child_that_runs_out_of_its_parents_time_is_cancelled() -> None:
    inner = process_of(action_step("deep"), name="inner")
    world = World(inner, process_of(child_step("one", "inner", timeout_s=9.0)))
    world.start()

    world.fire()
    world.play()

    assert world.said(StepFailed)[0].kind == "timeout"
    assert world.state().status == "halted"
    assert world.state(world.said(StepDelegated)[0].child).status == "cancelled"


def test_after_a_cancel_nothing_changes_it_any_more() -> None:
    world = World(process_of(action_step("one")))
    world.start()
    world.publish(ExecutionCancel(execution_id="x"), ExecutionCancel(execution_id="x"))
    world.play()

    world.answer()
    world.publish(ExecutionResume(execution_id="x"))
    world.play()

    assert world.state().status == "cancelled"
    assert len(world.said(ExecutionCancelled)) == 1
