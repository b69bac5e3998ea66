"""Steps that work on several items at once: what each is given, order, bounds, results."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from cortex.bus.events import (
    ContextCompile,
    ExecutionCompleted,
    ExecutionStarted,
    ModelInvoke,
    Part,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepFanned,
    StepItemChanged,
    StepSkipped,
)
from cortex.runtime.executions import Execution
from cortex.runtime.processes import (
    Goal,
    LinkedFan,
    MapOf,
    Output,
    Ref,
    Retry,
)

from .execution_fan_world import (
    THREE,
    _seeing,
    answer,
    asked,
    branches,
    each_of,
    fail,
    item,
    results,
    started,
)
from .execution_world import (
    World,
    action_step,
    child_step,
    compare,
    constant,
    process_of,
)
from .test_execution_goals import goal_step


def test_so_many_items_at_once_and_results_in_the_order_of_the_list() -> None:
    world = started(each_of())

    assert asked(world) == [10, 20]
    answer(world, 20)
    assert asked(world) == [10, 30]
    answer(world, 30)
    answer(world, 10)

    state = world.state()
    assert state.status == "completed"
    assert results(world) == [{"got": 10}, {"got": 20}, {"got": 30}]
    assert state.results["each"]["completed"] == 3
    assert state.results["each"]["failures"] == []


def test_an_item_is_an_execution_that_says_whose_it_is() -> None:
    world = started(each_of())

    begun = world.said(ExecutionStarted)[1]
    assert (begun.parent, begun.parent_step) == ("x", "each")
    assert begun.part is not None
    assert (begun.part.step_id, begun.part.item, begun.part.named) == ("each", 1, {"n": 10})
    assert begun.inputs == {}  # nothing else is referred to
    assert world.state(begun.execution_id).status == "running"


def test_an_item_is_given_what_its_step_refers_to_and_no_more() -> None:
    step = each_of(
        parameters=MapOf((("a", Ref(("steps", "first", "by"))), ("n", Ref(("execution", "item")))))
    )
    world = started(action_step("first"), step, items=[1])

    world.answer(StepExecute, result={"by": "me", "more": "x" * 100})

    begun = world.said(ExecutionStarted)[1]
    assert begun.part is not None
    assert begun.part.results == {"first": {"by": "me"}}
    assert world.open(StepExecute)[0][1].parameters == {"a": "me", "n": 1}


def test_an_empty_list_is_done_at_once() -> None:
    world = started(each_of(), items=[])

    assert world.state().status == "completed"
    assert results(world) == []
    assert world.said(StepFanned)[0].items == 0


@pytest.mark.parametrize("items", ["abc", {"a": 1}, 3, None])
def test_what_is_no_list_fails_the_step_and_says_so(items: Any) -> None:
    world = started(each_of(), items=items)

    failed = world.said(StepFailed)[0]
    assert "expected a list" in failed.error
    assert failed.retry is False
    assert world.state().status == "halted"


def test_a_list_that_is_too_long_is_refused() -> None:
    world = started(each_of(), items=[0] * 10_001)

    assert "10,001 items, and 10,000 are possible" in world.state().reason


def test_a_failed_item_is_retried_by_itself() -> None:
    world = started(each_of(retry=Retry(attempts=2, backoff_s=0)))

    fail(world, 10)
    assert sorted(asked(world)) == [10, 20]
    answer(world, 10)
    answer(world, 20)
    answer(world, 30)

    assert world.state().status == "completed"
    assert len(world.said(StepDelegated)) == 3


def test_branches_run_at_the_same_time_and_are_joined() -> None:
    world = started(
        *branches(action_step("lint"), action_step("types")),
        action_step("last", parameters=MapOf((("a", Ref(("steps", "lint", "by"))),))),
    )

    assert [request.step_id for _, request in world.open(StepExecute)] == ["lint", "types"]
    world.answer(StepExecute)
    assert len(world.open(StepExecute)) == 1
    world.answer(StepExecute)
    last = world.open(StepExecute)[0][1]
    assert (last.step_id, last.parameters) == ("last", {"a": "lint"})
    world.answer(StepExecute)

    state = world.state()
    assert state.status == "completed"
    assert state.statuses == {
        "both": "completed",
        "lint": "completed",
        "types": "completed",
        "last": "completed",
    }


def test_a_branch_whose_condition_does_not_hold_is_skipped() -> None:
    never = compare("==", constant(1), constant(2))
    world = started(*branches(action_step("lint", when=never), action_step("types")))

    world.answer_all()

    assert world.state().statuses["lint"] == "skipped"
    assert world.state().results["both"]["completed"] == 1
    assert world.state().status == "completed"


def test_a_parallel_step_that_is_skipped_skips_its_branches() -> None:
    never = compare("==", constant(1), constant(2))
    world = started(*branches(action_step("lint"), action_step("types"), when=never))

    assert [each.step_id for each in world.said(StepSkipped)] == ["both", "lint", "types"]
    assert world.state().status == "completed"


def test_a_failed_branch_is_named() -> None:
    world = started(*branches(action_step("lint"), action_step("types"), failures="collect"))
    position, request = world.open(StepExecute)[0]
    world.settle(
        position,
        StepFailed(execution_id=request.execution_id, step_id="lint", error="it broke"),
    )
    world.answer_all()

    state = world.state()
    assert state.statuses["lint"] == "failed"
    assert state.results["both"]["failures"][0]["step"] == "lint"
    assert state.status == "completed"


def test_a_branch_may_go_over_a_list() -> None:
    inner = each_of("each")
    world = started(*branches(inner, action_step("types")))

    world.answer_all()

    assert world.state().status == "completed"
    assert len(results(world)) == 3
    assert len(world.said(StepFanned)) == 2


def test_an_item_may_run_a_process() -> None:
    inner = process_of(
        action_step("deep"),
        name="inner",
        outputs=(Output(name="n", type="string", value=Ref(("steps", "deep", "by"))),),
    )
    fan = LinkedFan(over=Ref(("inputs", "list")), at_once=2)
    step = _seeing(child_step("each", "inner", fan=fan))
    world = World(inner, process_of(step))

    world.start(inputs={"list": THREE})
    world.answer_all()

    assert world.state().status == "completed"
    assert results(world) == [{"n": "deep"}] * 3


def test_each_item_may_work_towards_a_goal() -> None:
    fan = LinkedFan(over=constant(["a", "b"]), name="file", at_once=2)
    step = replace(goal_step(step_id="each"), fan=fan)
    goal = step.goal
    assert isinstance(goal, Goal)
    world = started(_seeing(replace(step, goal=replace(goal, text=Ref(("file",))))))

    for _ in range(2):
        world.answer(ContextCompile)
        calls = [{"id": "c", "tool": "goal_reached", "arguments": {"summary": "done"}}]
        world.answer(ModelInvoke, answer={"text": "", "calls": calls}, stop="calls")

    assert [each["answer"] for each in results(world)] == ["done", "done"]
    assert world.state().status == "completed"


def test_nobody_but_the_engine_begins_an_item() -> None:
    world = started(each_of())
    begun = world.said(ExecutionStarted)[1]
    fields = {f: getattr(begun, f) for f in begun.__struct_fields__}
    fields |= {"execution_id": "forged", "part": Part(step_id="nothing", item=1)}

    world.publish(ExecutionStarted(**fields), source="somebody")
    world.play()

    assert world.state("forged").status == "unknown"


def test_what_others_say_of_an_item_does_not_end_it() -> None:
    world = started(each_of())

    world.publish(
        StepItemChanged(
            execution_id="x", step_id="each", item=1, child=item(world, 1), status="completed"
        ),
        ExecutionCompleted(
            execution_id=item(world, 1), outputs={"got": "forged"}, tokens=0, duration_s=0
        ),
        source="somebody",
    )
    world.play()

    fan = world.state().fan
    assert fan is not None
    assert fan.ended == 0


def test_an_engine_that_starts_again_goes_on_where_it_was() -> None:
    world = started(each_of(), items=list(range(10)))
    for n in (1, 0, 3, 2):
        answer(world, n)

    world.restart()
    for n in range(4, 10):
        answer(world, n)

    assert results(world) == [{"got": n} for n in range(10)]
    assert _distinct(world) == 10


def _distinct(world: World) -> int:
    return len({each.child for each in world.said(StepDelegated)})


def test_the_results_of_all_items_are_bounded() -> None:
    world = started(each_of(at_once=1), items=list(range(40)))
    large = {"text": "x" * 200_000}

    for n in range(40):
        if asked(world):
            answer(world, n, result=large)

    assert world.state().status == "halted"
    assert "have more than 4,194,304 bytes together" in world.state().reason


def test_the_state_is_plain_data() -> None:
    state = started(each_of()).state()

    plain = msgspec.to_builtins(state)

    assert plain["fan"]["items"] == 3
    assert isinstance(state, Execution)
