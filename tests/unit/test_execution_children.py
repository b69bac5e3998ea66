"""Executions in executions, and what an end means to whoever waits for it."""

from cortex.bus.events import (
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionFailed,
    ExecutionResume,
    StepDelegated,
    StepFailed,
)
from cortex.runtime.processes import LinkedChild, MapOf, RunProcess

from .execution_world import (
    World,
    action_step,
    child_step,
    constant,
    process_of,
)
from .test_execution_failures import fail_step


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
