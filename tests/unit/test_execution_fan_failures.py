"""Items that fail: what halts, and what a resume then does again."""

from typing import Any

from cortex.bus.events import (
    ExecutionCancel,
    ExecutionHalted,
    ExecutionResume,
    ExecutionResumed,
    StepDelegated,
    StepExecute,
    StepFanned,
    StepItemChanged,
)
from cortex.runtime.executions import Execution, evolve
from cortex.runtime.processes import (
    Continue,
)

from .execution_fan_world import answer, asked, each_of, fail, item, results, started
from .execution_world import (
    action_step,
)


def test_halt_begins_no_more_and_lets_what_runs_come_to_its_end() -> None:
    world = started(each_of())

    fail(world, 10)
    assert asked(world) == [20]
    assert world.state().status == "running"
    answer(world, 20)

    halted = world.said(ExecutionHalted)[-1]
    assert halted.execution_id == "x"
    assert halted.reason == f"1 of 3 items failed: item 1 (execution {item(world, 1)}): it broke"
    assert halted.evidence["completed"] == 1
    assert halted.evidence["items"][0]["execution"] == item(world, 1)
    assert asked(world) == []


def test_a_resume_after_a_halt_does_only_what_is_not_done() -> None:
    world = started(each_of())
    fail(world, 10)
    answer(world, 20)

    world.publish(ExecutionResume(execution_id="x"))
    world.play()

    assert sorted(asked(world)) == [10, 30]
    answer(world, 10)
    answer(world, 30)
    assert world.state().status == "completed"
    assert results(world) == [{"got": 10}, {"got": 20}, {"got": 30}]
    assert [n.parameters["n"] for n in world.said(StepExecute)] == [10, 20, 10, 30]


def test_resuming_an_item_itself_resumes_its_step() -> None:
    world = started(each_of())
    fail(world, 10)
    answer(world, 20)

    world.publish(ExecutionResume(execution_id=item(world, 1)))
    world.play()

    assert world.state().status == "running"
    answer(world, 10)
    answer(world, 30)
    assert world.state().status == "completed"


def test_an_item_that_was_cancelled_is_begun_anew_by_a_resume() -> None:
    world = started(each_of(), items=[10])
    first = item(world, 1)

    world.publish(ExecutionCancel(execution_id=first))
    world.play()
    assert world.state().status == "halted"
    world.forget_request(world.open(StepExecute)[0][0])
    world.publish(ExecutionResume(execution_id="x"))
    world.play()

    assert item(world, 1) != first
    answer(world, 10)
    assert results(world) == [{"got": 10}]


def test_collect_carries_out_all_and_names_what_failed() -> None:
    world = started(each_of(failures="collect"))

    fail(world, 10)
    answer(world, 20)
    answer(world, 30)

    state = world.state()
    assert state.status == "completed"
    assert results(world) == [None, {"got": 20}, {"got": 30}]
    assert state.results["each"]["failures"] == [
        {"item": 1, "error": "it broke", "execution": item(world, 1)}
    ]
    assert (state.results["each"]["completed"], state.results["each"]["failed"]) == (2, 1)
    assert world.state(item(world, 1)).status == "cancelled"


def test_what_a_step_says_about_failures_holds_for_all_of_its_items() -> None:
    world = started(each_of(on_failure=Continue()), action_step("last"))

    fail(world, 10)
    answer(world, 20)

    assert world.state().statuses["each"] == "failed"
    assert world.state(item(world, 1)).status == "cancelled"
    assert world.open(StepExecute)[0][1].step_id == "last"


def test_going_back_begins_all_items_anew() -> None:
    world = started(each_of())
    fail(world, 10)
    answer(world, 20)

    world.publish(ExecutionResume(execution_id="x", from_step="each"))
    world.play()

    assert asked(world) == [10, 20]
    assert world.state(item(world, 1)).status == "running"


def test_what_waits_to_be_redone_waits_on_where_something_else_failed() -> None:
    state = _failed_all(4)

    state = _halted_and_resumed(_with_failed(_halted_and_resumed(state), 1, "second 1"))

    assert state.fan is not None
    assert state.fan.redo == (2, 3, 4, 1)
    assert (state.fan.ended, state.fan.failed) == (0, 0)


def test_a_failed_item_is_known_without_a_look_at_ten_thousand_others() -> None:
    """Counted is what is compared, not how long it takes."""
    many = 10_000
    fan = _halted_and_resumed(_failed_all(many)).fan
    assert fan is not None

    for number in range(1, many + 1, 100):
        counted = _Counted(f"first {number}")
        assert fan.knows(counted)
        assert counted.compared <= len(fan.gone)


class _Counted(str):
    """A name that counts what it is compared with."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        self.compared += 1
        return str.__eq__(self, other)


def _failed_all(many: int) -> Execution:
    """An execution of whose step all items failed."""
    fanned = StepFanned(execution_id="x", step_id="each", items=many, at_once=2)
    state = evolve(started(each_of()).state(), fanned, 0, own=True)
    for number in range(1, many + 1):
        state = _with_failed(state, number, f"first {number}")
    return state


def _with_failed(state: Execution, number: int, child: str) -> Execution:
    place: dict[str, Any] = {"execution_id": "x", "step_id": "each", "child": child}
    begun = StepDelegated(**place, purpose="item", item=number)
    failed = StepItemChanged(**place, item=number, status="failed")
    return evolve(evolve(state, begun, 0, own=True), failed, 0, own=True)


def _halted_and_resumed(state: Execution) -> Execution:
    halted = ExecutionHalted(execution_id="x", step_id="each", reason="it broke")
    halted_state = evolve(state, halted, 0, own=True)
    return evolve(halted_state, ExecutionResumed(execution_id="x"), 0, own=True)


def test_an_item_that_ends_for_its_step_keeps_its_reason_and_its_place() -> None:
    world = started(each_of(failures="collect"))
    fail(world, 10)

    said = [each for each in world.said(StepItemChanged) if each.item == 1]

    assert [(each.status, each.reason) for each in said] == [
        ("ending", "it broke"),
        ("failed", "it broke"),
    ]
