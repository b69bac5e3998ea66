"""What an execution does when something goes wrong: retries, timeouts, on_failure, late answers."""

from typing import Any

import pytest

from cortex.bus.events import (
    ContextCompile,
    ContextRefused,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionResume,
    GateEvaluated,
    ModelFailed,
    ModelInvoke,
    StepCompleted,
    StepExecute,
    StepFailed,
    StepSkipped,
)
from cortex.runtime.executions import wait_before_retry
from cortex.runtime.log import BlobMissingError, MemoryBlobs
from cortex.runtime.processes import (
    Carry,
    Continue,
    GoTo,
    MapOf,
    Output,
    Ref,
    Retry,
)

from .execution_world import (
    SECOND_NS,
    World,
    action_step,
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
    hole = MapOf((("path", text(constant("in "), Ref(("inputs", "folder")))),))
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


def test_what_is_too_large_for_an_event_refuses_the_step_and_says_what_to_do() -> None:
    carry = (Carry(step="one"), Carry(step="two"))
    steps = [
        action_step("one"),
        action_step("two"),
        action_step("three", asks_model=True, carry=carry),
    ]
    world = World(process_of(*steps))

    world.start()
    world.answer(result={"text": "x" * 200_000})
    world.answer(result={"text": "y" * 200_000})

    failed = world.said(StepFailed)[0]
    assert failed.step_id == "three"
    assert failed.error.startswith("context.compile would have 400,")
    assert "carry single fields" in failed.error
    assert world.state().status == "halted"


def test_outputs_that_are_too_large_fail_the_execution() -> None:
    one, two = Ref(("steps", "one", "text")), Ref(("steps", "two", "text"))
    outputs = (
        Output(name="a", type="string", value=one),
        Output(name="b", type="string", value=two),
    )
    world = World(process_of(action_step("one"), action_step("two"), outputs=outputs))

    world.start()
    world.answer(result={"text": "x" * 200_000})
    world.answer(result={"text": "y" * 200_000})

    assert world.said(ExecutionFailed)[0].reason.startswith("execution.completed would have 400,")


def test_a_process_that_cannot_be_read_is_tried_again_and_then_fails_the_execution() -> None:
    world = World(process_of(action_step("one")))
    world.begin_requests = False
    world.start()
    world.begin(world.open_request("x"))
    world.blobs = MemoryBlobs()
    world.restart()

    with pytest.raises(BlobMissingError):
        world.play()
    world.attempt = 3
    world.play()

    assert world.said(ExecutionFailed)[0].reason.startswith("its process cannot be read: ")
    assert world.state().status == "failed"
