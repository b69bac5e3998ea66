"""Going back to an earlier step, by itself or by hand, and what its next try is told."""

from typing import Any

import pytest

from cortex.bus.events import (
    ContextCompile,
    ExecutionCancel,
    ExecutionHalted,
    ExecutionPause,
    ExecutionResume,
    ExecutionResumed,
    GateEvaluate,
    GateEvaluated,
    ModelInvoke,
    StepCompleted,
    StepExecute,
    StepFailed,
    StepReopened,
)
from cortex.runtime.processes import BackTo, LinkedProcess, Retry

from .execution_world import World, action_step, child_step, gate, process_of


def repair(times: int = 2, **more: Any) -> LinkedProcess:
    return process_of(
        action_step("read"),
        action_step("fix", asks_model=True),
        action_step("verify", on_failure=BackTo("fix", times), **more),
        action_step("commit", gates=(gate("g"),)),
    )


def begun(process: LinkedProcess) -> World:
    """Up to the step `verify`, which is open."""
    world = World(process)
    world.start()
    world.answer(StepExecute)
    fix(world)
    return world


def fix(world: World) -> None:
    world.answer(ContextCompile)
    world.answer(ModelInvoke)
    world.answer(StepExecute)


def fail(world: World, **more: Any) -> None:
    position, asked = world.open(StepExecute)[0]
    place = {"execution_id": "x", "step_id": asked.step_id, "attempt": asked.attempt}
    world.settle(position, StepFailed(**place, **{"error": "two tests are red", **more}))


def resume(world: World, **more: Any) -> None:
    world.publish(ExecutionResume(execution_id="x", **more))
    world.play()


def tried(world: World) -> list[tuple[str, int]]:
    return [(asked.step_id, asked.attempt) for asked in world.said(StepExecute)]


def test_a_failed_step_goes_back_and_attempts_are_counted_on() -> None:
    world = begun(repair())

    fail(world)
    fix(world)
    world.answer(StepExecute)
    world.answer(GateEvaluate)
    world.answer(StepExecute)

    back = world.said(StepReopened)[0]
    assert (back.step_id, back.by, back.times, back.reason) == (
        "fix", "verify", 1, "two tests are red",
    )  # fmt: skip
    assert back.dropped == ("fix", "verify")
    assert tried(world) == [
        ("read", 1), ("fix", 1), ("verify", 1), ("fix", 2), ("verify", 2), ("commit", 1),
    ]  # fmt: skip
    assert world.state().status == "completed"


def test_the_next_try_is_told_what_went_wrong_and_by_whom() -> None:
    world = begun(repair())

    fail(world, kind="tests_failed", excerpt="assert 1 == 2")
    asked = world.said(ContextCompile)[-1]

    assert asked.failures == (
        {
            "step": "verify", "attempt": 1, "kind": "tests_failed",
            "error": "two tests are red", "excerpt": "assert 1 == 2",
        },
    )  # fmt: skip


def test_it_goes_back_so_often_and_then_halts() -> None:
    world = begun(repair(times=2))

    for _ in range(2):
        fail(world)
        fix(world)
    fail(world)

    halted = world.said(ExecutionHalted)[0]
    assert [back.times for back in world.said(StepReopened)] == [1, 2]
    assert (
        halted.reason
        == "two tests are red (went back to fix 2 times; resume --from fix tries again)"
    )
    assert halted.evidence == {"kind": "failed", "attempt": 3, "went_back": 2}
    told = world.said(ContextCompile)[-1].failures
    assert [(each["step"], each["attempt"]) for each in told] == [("verify", 1), ("verify", 2)]


def test_the_attempts_of_a_step_are_used_before_it_goes_back_and_all_of_them_after() -> None:
    world = begun(repair(retry=Retry(attempts=2, backoff_s=0)))

    fail(world)
    once = world.said(StepReopened)
    fail(world)
    fix(world)
    fail(world)

    assert once == []
    assert len(world.said(StepReopened)) == 1
    assert [attempt for step, attempt in tried(world) if step == "verify"] == [1, 2, 3, 4]


def test_what_was_dropped_is_neither_seen_nor_carried() -> None:
    world = begun(repair())

    fail(world)

    assert set(world.state().results) == {"read"}
    assert world.state().statuses == {"read": "completed"}


def test_a_pause_that_was_asked_for_is_taken_before_it_goes_on_there() -> None:
    world = begun(repair())

    world.publish(ExecutionPause(execution_id="x"))
    world.play()
    fail(world)
    paused = world.state()
    resume(world)

    assert (paused.status, paused.step_id) == ("paused", "fix")
    assert world.said(ContextCompile)[-1].attempt == 2
    assert len(world.said(ContextCompile)[-1].failures) == 1


def test_a_step_that_is_tried_again_sees_its_own_failure() -> None:
    step = action_step("one", asks_model=True, retry=Retry(attempts=2, backoff_s=0))
    world = World(process_of(step))

    world.start()
    world.answer(ContextCompile)
    world.answer(ModelInvoke)
    fail(world, error="it does not apply")

    first, second = world.said(ContextCompile)
    assert first.failures == ()
    assert second.failures == (
        {
            "step": "one", "attempt": 1, "kind": "failed", "error": "it does not apply",
            "model": "extractive",
        },
    )  # fmt: skip


def halted_by_a_gate() -> World:
    """`commit` does not begin: its gate looks at what the tests gave."""
    world = begun(repair())
    world.answer(StepExecute, result={"passed": False, "excerpt": "1 failed"})
    position, asked = world.open(GateEvaluate)[0]
    answer = GateEvaluated(
        execution_id="x", step_id="commit", gate="g", outcome="failed", attempt=asked.attempt,
        reason="the tests are red", evidence={"step": "verify", "excerpt": "1 failed"},
    )  # fmt: skip
    world.settle(position, answer)
    return world


def test_a_halted_execution_is_resumed_from_an_earlier_step_which_sees_why() -> None:
    world = halted_by_a_gate()

    resume(world, from_step="fix", by="ada")
    asked = world.said(ContextCompile)[-1]
    fix(world)
    world.answer(StepExecute)
    world.answer(GateEvaluate)
    world.answer(StepExecute)

    assert world.said(ExecutionResumed)[0].from_step == "fix"
    by_gate, by_tests = asked.failures
    assert (by_gate["kind"], by_gate["gate"], by_gate["error"]) == (
        "gate", "g", "the tests are red",
    )  # fmt: skip
    assert (by_gate["evidence"], by_gate["excerpt"]) == ({"step": "verify"}, "1 failed")
    assert (by_tests["step"], by_tests["kind"]) == ("verify", "result")
    assert [asked.attempt for asked in world.said(GateEvaluate)] == [1, 2]
    assert world.state().status == "completed"
    assert world.state().failures == ()


@pytest.mark.parametrize("step", ["nowhere", "commit2"])
def test_a_resume_from_where_it_never_was_changes_nothing(step: str) -> None:
    world = halted_by_a_gate()

    before = len(world.said())
    resume(world, from_step=step)

    assert len(world.said()) == before + 1
    assert world.state().status == "halted"


def test_a_running_execution_is_not_sent_back() -> None:
    world = begun(repair())

    resume(world, from_step="read")

    assert world.said(StepReopened, ExecutionResumed) == []


def test_a_late_answer_to_a_dropped_attempt_counts_no_more() -> None:
    world = begun(repair())
    world.publish(ExecutionPause(execution_id="x"))
    world.play()
    world.answer(StepExecute)

    resume(world, from_step="fix")
    late = StepCompleted(execution_id="x", step_id="fix", attempt=1, result={"late": True})
    world.publish(late)
    world.play()

    assert "fix" not in world.state().results
    assert tried(world)[-1] == ("verify", 1)


def test_going_back_from_a_child_cancels_it() -> None:
    inner = process_of(action_step("a"), name="inner")
    world = World(process_of(action_step("first"), child_step("call", "inner")), inner)
    world.start()
    world.answer(StepExecute)
    fail_child = world.open(StepExecute)[0]
    failed = StepFailed(execution_id=fail_child[1].execution_id, step_id="a", error="no")
    world.settle(fail_child[0], failed)

    resume(world, from_step="first")
    world.answer(StepExecute)
    world.answer(StepExecute)

    cancelled = world.said(ExecutionCancel)[0]
    assert cancelled.reason == "its parent goes back to first"
    assert world.state(cancelled.execution_id).status == "cancelled"
    assert world.state().status == "completed"
