"""Executions in executions, and what an end means to whoever waits for it."""

from cortex.bus.events import (
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionFailed,
    ExecutionResume,
    StepDelegated,
    StepExecute,
    StepFailed,
)
from cortex.runtime.processes import (
    Continue,
    LinkedChild,
    MapOf,
    Output,
    Retry,
    RunProcess,
)

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


def test_a_child_that_fails_fails_the_step_of_its_parent() -> None:
    inner = process_of(outputs=(Output(name="n", type="string", value=constant(3)),), name="inner")
    world = World(inner, process_of(child_step("one", "inner")))

    world.start()

    failed = world.said(StepFailed)[0]
    assert (failed.execution_id, failed.step_id) == ("x", "one")
    assert "failed: the outputs are not as declared" in failed.error
    assert world.state().status == "halted"


def test_a_child_that_halts_is_cancelled_where_its_parent_goes_on_without_it() -> None:
    inner = process_of(action_step("deep"), name="inner")
    world = World(
        inner, process_of(child_step("one", "inner", on_failure=Continue()), action_step("two"))
    )

    world.start()
    fail_step(world)
    world.answer(StepExecute)

    failed = world.said(StepFailed)[1]
    assert failed.error.startswith("child execution ")
    assert failed.error.endswith("halted: it broke")
    assert world.state().status == "completed"
    assert world.state(world.said(StepDelegated)[0].child).status == "cancelled"


def test_a_child_that_halts_is_tried_anew_as_often_as_the_step_says() -> None:
    inner = process_of(action_step("deep"), name="inner")
    retry = Retry(attempts=2, backoff_s=0)
    world = World(inner, process_of(child_step("one", "inner", retry=retry)))

    world.start()
    fail_step(world)
    fail_step(world)

    first, second = (each.child for each in world.said(StepDelegated))
    assert world.state(first).status == "cancelled"
    assert (world.state(second).status, world.state().status) == ("halted", "halted")


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
