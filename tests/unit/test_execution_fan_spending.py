"""What the items of a step spend: one budget for all, and a part of it for each."""

import pytest

from cortex.bus.events import (
    ContextCompile,
    ExecutionCancel,
    ExecutionEdit,
    ExecutionRefused,
    ExecutionResume,
    ModelInvoke,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepReopened,
)
from cortex.runtime.processes import (
    Budget,
)

from .execution_fan_world import answer, each_of, fail, go_on, item, results, started
from .execution_world import (
    ASKED,
    World,
    answer_to,
)


def bounds(world: World, *numbers: int) -> list[float]:
    """What the newest executions of items may spend."""
    found = [world.state(item(world, number)).begun().max_cost or 0.0 for number in numbers]
    return [round(each, 6) for each in found]


def spend(world: World, number: int, cost: float, *, fails: bool = False) -> None:
    """Let the newest execution of an item ask its model once, for *cost*, and end or halt."""
    child = item(world, number)
    while found := [each for each in world.open(*ASKED) if each[1].execution_id == child]:
        position, request = found[0]
        if isinstance(request, ModelInvoke):
            world.settle(position, answer_to(request, cost=cost))
        elif isinstance(request, StepExecute) and fails:
            failed = StepFailed(
                execution_id=child,
                step_id=request.step_id,
                attempt=request.attempt,
                error="it broke",
                retry=False,
            )
            world.settle(position, failed)
        else:
            world.settle(position, answer_to(request))


def test_all_items_together_spend_no_more_than_there_is() -> None:
    step = each_of(asks_model=True, at_once=4, failures="collect")
    world = started(step, items=list(range(8)), max_cost=1.0)

    caps = [each.max_cost for each in world.said(StepDelegated)]
    assert caps == [0.25] * 4
    world.answer_all()

    assert world.state().cost <= 1.0 + 1e-9
    assert world.state().status == "halted"
    assert "have spent all that they may" in world.state().reason


def test_what_an_item_leaves_is_there_for_the_others() -> None:
    world = started(each_of(at_once=1), items=[1, 2], max_cost=1.0)

    answer(world, 1)

    assert [each.max_cost for each in world.said(StepDelegated)] == [1.0, 1.0]


def test_more_money_goes_on_with_the_items_that_are_left() -> None:
    step = each_of(asks_model=True, at_once=1)
    world = started(step, items=[1, 2, 3], max_cost=0.25)
    world.answer_all()
    assert world.state().status == "halted"

    world.publish(ExecutionEdit(execution_id="x", max_cost=5.0))
    world.play()
    world.answer_all()

    assert world.state().status == "completed"
    assert len(world.said(StepDelegated)) == 3


def test_the_budget_of_the_step_bounds_the_time_of_all() -> None:
    world = started(each_of(budget=Budget(time_s=30)))

    assert world.fire()
    world.play()

    assert "took the 30 s that its budget allows" in world.state().reason
    assert world.state(item(world, 1)).status == "cancelled"
    assert world.state(item(world, 2)).status == "cancelled"


@pytest.mark.parametrize(("items", "at_once"), [(6, 1), (10, 2), (20, 4)])
def test_what_a_failed_item_spent_is_counted_before_its_part_is_given_to_another(
    items: int, at_once: int
) -> None:
    step = each_of(asks_model=True, at_once=at_once, failures="collect")
    world = started(step, items=list(range(items)), max_cost=1.0)

    for number in range(1, items + 1):
        if number <= len(world.said(StepDelegated)):
            spend(world, number, bounds(world, number)[0], fails=True)

    assert world.state().cost <= 1.0 + 1e-9
    assert "have spent all that they may" in world.state().reason


def test_a_resume_hands_out_no_more_than_is_left() -> None:
    step = each_of(asks_model=True, at_once=3)
    world = started(step, items=list(range(4)), max_cost=1.0)
    spend(world, 1, 0.3)
    for number in (2, 3, 4):
        spend(world, number, 0.001, fails=True)
    assert world.state().status == "halted"

    go_on(world)

    left = 1.0 - world.state().cost
    assert sum(bounds(world, 2, 3, 4)) <= left + 1e-9
    for number, bound in zip((2, 3, 4), bounds(world, 2, 3, 4), strict=True):
        spend(world, number, bound - 0.001)
    assert world.state().status == "completed"
    assert world.state().cost <= 1.0 + 1e-9


def test_more_money_helps_an_item_that_was_not_given_all_inputs() -> None:
    step = each_of(asks_model=True)
    world = started(step, items=[10, 20], max_cost=1.0)
    spend(world, 1, 0.5, fails=True)
    spend(world, 2, 0.1)

    go_on(world, 5.0)
    assert bounds(world, 1) == [4.9]
    spend(world, 1, 0.1)

    assert not world.said(ExecutionRefused)
    assert world.state().status == "completed"


def test_no_failed_item_is_forgotten_however_often_its_step_halts_and_is_resumed() -> None:
    step = each_of(asks_model=True, at_once=1, failures="collect")
    world = started(step, items=list(range(6)), max_cost=1.0)
    for number in (1, 2, 3, 4):
        spend(world, number, 0.3, fails=True)
    assert world.state().status == "halted"

    for _ in range(6):
        if not world.state().over:
            go_on(world, world.state().cost + 0.5)
            world.answer_all()

    assert world.state().status == "completed"
    assert None not in results(world)


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("page", [1, 256])
def test_what_items_spent_before_a_step_began_anew_stays_spent(page: int, restarted: bool) -> None:
    world = started(each_of(asks_model=True, at_once=2), items=[1, 2], max_cost=1.0)
    for _ in range(2):
        world.answer(ContextCompile)
        world.answer(ModelInvoke)
    fail(world, 1)
    fail(world, 2)
    first = world.said(StepDelegated)
    assert world.state().cost == 0.0  # neither has ended

    world.publish(ExecutionResume(execution_id="x", from_step="each"))
    while world.pump(limit=page):
        if restarted:
            world.restart()

    again = world.said(StepDelegated)[len(first) :]
    assert world.state().cost == 0.5
    assert [each.max_cost for each in again] == [0.25, 0.25]
    (reopened,) = world.said(StepReopened)
    assert set(reopened.leaving) == {each.child for each in first}


def test_items_that_took_nothing_hold_nobody_up_and_a_cancel_ends_the_wait() -> None:
    for limits, status in (((256, 256, 256, 256, 256), "running"), ((1,), "cancelled")):
        world = started(each_of(), items=[1, 2])
        fail(world, 1)
        answer(world, 2)
        world.publish(ExecutionResume(execution_id="x", from_step="each"))
        for limit in limits:
            world.pump(limit=limit)
        if status == "cancelled":
            world.publish(ExecutionCancel(execution_id="x"))
        world.play()

        assert world.state().status == status
        assert world.state().leaving == frozenset()
