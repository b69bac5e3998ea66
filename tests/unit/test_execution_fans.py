"""Steps that work on several items at once: order, bounds, failures, questions, one budget."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from cortex.bus.events import (
    ContextCompile,
    EffectIntended,
    EffectSettle,
    EffectUnknown,
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionEdit,
    ExecutionHalted,
    ExecutionPause,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResume,
    ExecutionResumed,
    ExecutionStarted,
    GateEvaluate,
    ModelInvoke,
    Part,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepFanned,
    StepItemChanged,
    StepSettle,
    StepSkipped,
)
from cortex.runtime.processes import (
    Budget,
    Continue,
    Field,
    Goal,
    LinkedFan,
    LinkedStep,
    MapOf,
    Output,
    Ref,
    Retry,
    seen_by,
)
from cortex.runtime.processes.execution import Execution, evolve

from .execution_world import (
    ASKED,
    World,
    action_step,
    answer_to,
    child_step,
    compare,
    constant,
    gate,
    process_of,
)
from .test_execution_goals import goal_step

THREE = [10, 20, 30]


def each_of(
    step_id: str = "each",
    *,
    over: Any = None,
    at_once: int = 2,
    failures: Any = "halt",
    step: LinkedStep | None = None,
    **more: Any,
) -> LinkedStep:
    """A step over a list, which hands its item to its action as `n`."""
    fan = LinkedFan(
        over=over or Ref(("inputs", "list")), name="n", at_once=at_once, failures=failures
    )
    more.setdefault("parameters", MapOf((("n", Ref(("n",))),)))
    made = step or action_step(step_id, fan=fan, **more)
    return _seeing(made)


def branches(*steps: LinkedStep, failures: Any = "halt", **more: Any) -> tuple[LinkedStep, ...]:
    ids = tuple(step.id for step in steps)
    fan = LinkedFan(at_once=len(ids), failures=failures, branches=ids)
    of = [_with(step, within="both") for step in steps]
    outer = action_step("both", fan=fan, **more)
    return (_with(outer, action=None), *map(_seeing, of))


def _with(step: LinkedStep, **fields: Any) -> LinkedStep:
    return replace(step, **fields)


def _seeing(step: LinkedStep) -> LinkedStep:
    return _with(step, sees=seen_by(step))


def started(*steps: LinkedStep, items: Any = THREE, **more: Any) -> World:
    outputs = more.pop("outputs", ())
    inputs = (Field(name="list", type="list"),)
    world = World(process_of(*steps, outputs=outputs, inputs=inputs))
    world.start(inputs={"list": items}, **more)
    return world


def asked(world: World) -> list[Any]:
    """Parameters of the steps that wait for their handler, in order."""
    return [request.parameters.get("n") for _, request in world.open(StepExecute)]


def answer(world: World, n: Any, **fields: Any) -> None:
    """Let the handler of item *n* answer."""
    for position, request in world.open(StepExecute):
        if request.parameters.get("n") == n:
            place = {"execution_id": request.execution_id, "step_id": request.step_id}
            result = fields or {"result": {"got": n}}
            world.settle(position, StepCompleted(**place, attempt=request.attempt, **result))
            return
    raise LookupError(n)


def fail(world: World, n: Any, **fields: Any) -> None:
    for position, request in world.open(StepExecute):
        if request.parameters.get("n") == n:
            place = {"execution_id": request.execution_id, "step_id": request.step_id}
            failed = {"error": "it broke", "attempt": request.attempt, **fields}
            world.settle(position, StepFailed(**place, **failed))
            return
    raise LookupError(n)


def item(world: World, number: int) -> str:
    """The newest execution of an item."""
    found: str = [each.child for each in world.said(StepDelegated) if each.item == number][-1]
    return found


def results(world: World, step: str = "each") -> Any:
    return world.state().results[step]["results"]


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


def test_one_cancel_ends_all_of_them() -> None:
    world = started(each_of())

    world.publish(ExecutionCancel(execution_id="x"))
    world.play()

    ended = [each.execution_id for each in world.said(ExecutionCancelled)]
    assert sorted(ended) == sorted(["x", item(world, 1), item(world, 2)])
    assert len(world.said(StepDelegated)) == 2


def test_a_pause_is_taken_by_all_and_a_resume_goes_on_with_all() -> None:
    world = started(each_of(step=None, gates=(gate("g"),)))

    world.publish(ExecutionPause(execution_id="x", reason="lunch"))
    world.play()
    assert world.state().status == "running"  # gates are asked
    world.answer(GateEvaluate)
    world.answer(GateEvaluate)
    assert (world.state().status, world.state().reason) == ("paused", "lunch")
    world.publish(ExecutionResume(execution_id="x"))
    world.play()

    assert world.state().status == "running"
    world.answer_all()
    assert world.state().status == "completed"


def test_no_item_is_begun_while_a_pause_waits_for_those_under_way() -> None:
    world = started(each_of())

    world.publish(ExecutionPause(execution_id="x", reason="lunch"))
    world.play()
    answer(world, 10)
    answer(world, 20)

    assert (world.state().status, asked(world)) == ("paused", [])
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    answer(world, 30)
    assert world.state().status == "completed"


def test_a_pause_that_is_taken_back_leaves_nothing_paused() -> None:
    world = started(each_of(gates=(gate("g"),)))

    world.publish(ExecutionPause(execution_id="x"))
    world.play()
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    world.answer_all()

    assert world.state().status == "completed"
    assert not world.said(ExecutionPaused)


def test_a_question_inside_an_item_stops_only_that_item_until_nothing_else_is_left() -> None:
    world = started(each_of(gates=(gate("ok"),)), items=[1, 2, 3, 4])

    first, second = world.open(GateEvaluate)
    world.settle(first[0], _waits(first[1]))
    assert world.state().status == "running"
    world.settle(second[0], _passes(second[1]))
    for n in (2, 3, 4):
        answer(world, n)
        if n < 4:
            world.answer(GateEvaluate)

    state = world.state()
    assert (state.status, state.reason, state.asked_at) == ("paused", "approval", "p/ok")
    assert "1 item waits; item 1" in state.question
    world.publish(ExecutionResume(execution_id="x", answer="approved", gate="p/ok"))
    world.play()
    world.answer(GateEvaluate)
    answer(world, 1)
    assert world.state().status == "completed"


def test_a_gate_that_asks_in_several_items_is_answered_in_each() -> None:
    world = started(each_of(gates=(gate("ok"),)), items=[1, 2])
    for position, request in world.open(GateEvaluate):
        world.settle(position, _waits(request))

    world.publish(ExecutionResume(execution_id="x", answer="approved", gate="p/ok"))
    world.play()
    assert "p/ok asks in 2 items" in world.said(ExecutionRefused)[0].reason
    for number in (1, 2):
        answered = ExecutionResume(execution_id=item(world, number), answer="approved", gate="p/ok")
        world.publish(answered)
        world.play()
    world.answer_all()

    assert world.state().status == "completed"


def _waits(request: GateEvaluate) -> Any:
    return answer_to(request, outcome="waiting", evidence={"question": "may it?"})


def _passes(request: GateEvaluate) -> Any:
    return answer_to(request)


def begin_effect(world: World, n: Any) -> EffectIntended:
    position, request = next(r for r in world.open(StepExecute) if r[1].parameters["n"] == n)
    intended = EffectIntended(
        execution_id=request.execution_id,
        step_id=request.step_id,
        attempt=request.attempt,
        effect_key=f"key {n}",
        kind="action",
        name=request.action,
        component="Worker",
    )
    world.publish(intended)
    world.play()
    world.forget_request(position)
    return intended


def lose(world: World, intended: EffectIntended) -> None:
    fields = {f: getattr(intended, f) for f in intended.__struct_fields__}
    world.publish(EffectUnknown(**fields, reason="the process was killed"))
    world.play()


def test_effects_of_unknown_outcome_are_questions_of_their_items() -> None:
    world = started(each_of(effect="once"), items=[1, 2, 3])
    lost = [begin_effect(world, n) for n in (1, 2)]
    for each in lost:
        lose(world, each)

    state = world.state()
    assert (state.status, state.reason) == ("paused", "items")
    assert "2 items wait; item 1" in state.question
    asking = EffectSettle(execution_id="x", effect_key="key 1", outcome="again")
    world.publish(asking)
    world.play()
    assert "2 items ask what happened" in world.said(ExecutionRefused)[0].reason
    settled = EffectSettle(
        execution_id=item(world, 1), effect_key="key 1", outcome="happened", result={"got": "one"}
    )
    world.publish(settled)
    world.play()
    assert world.state().status == "running"
    answer(world, 3)
    world.publish(EffectSettle(execution_id="x", effect_key="key 2", outcome="again"))
    world.play()
    answer(world, 2)

    assert results(world) == [{"got": "one"}, {"got": 2}, {"got": 3}]


def test_a_plain_resume_does_not_answer_for_an_item() -> None:
    world = started(each_of(effect="once"), items=[1])
    lose(world, begin_effect(world, 1))

    world.publish(ExecutionResume(execution_id="x"))
    world.play()

    assert world.state().status == "paused"
    assert world.state(item(world, 1)).status == "paused"


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


def test_other_inputs_do_not_change_items_that_were_begun() -> None:
    world = started(each_of())
    fail(world, 10)
    answer(world, 20)

    world.publish(ExecutionEdit(execution_id="x", inputs={"list": [1]}))
    world.play()

    assert (
        "the items of each have the inputs as they were" in world.said(ExecutionRefused)[0].reason
    )


def test_the_budget_of_the_step_bounds_the_time_of_all() -> None:
    world = started(each_of(budget=Budget(time_s=30)))

    assert world.fire()
    world.play()

    assert "took the 30 s that its budget allows" in world.state().reason
    assert world.state(item(world, 1)).status == "cancelled"
    assert world.state(item(world, 2)).status == "cancelled"


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


def test_a_breakpoint_stops_each_item_and_a_resume_goes_on_with_all() -> None:
    world = started(each_of(asks_model=True, breakpoint=True))
    world.answer(ContextCompile)
    world.answer(ContextCompile)

    assert (world.state().status, world.state().reason) == ("paused", "items")
    assert not world.said(ModelInvoke)
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    world.answer_all()

    assert len(world.said(ModelInvoke)) == 2
    assert (world.state().status, world.state().reason) == ("paused", "items")  # the third one
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    world.answer_all()
    assert world.state().status == "completed"


def test_a_person_skips_a_step_and_its_items_end() -> None:
    world = started(*branches(action_step("lint"), action_step("types")), action_step("last"))
    position, request = world.open(StepExecute)[0]
    failed = StepFailed(execution_id=request.execution_id, step_id="lint", error="no", retry=False)
    world.settle(position, failed)
    world.answer(StepExecute)
    assert world.state().status == "halted"

    refused = StepSettle(execution_id="x", step_id="lint", outcome="skipped")
    world.publish(replace(refused, seen=len(world.records)))
    world.play()
    assert "lint is a branch of both" in world.said(ExecutionRefused)[0].reason
    skipped = StepSettle(execution_id="x", step_id="both", outcome="skipped")
    world.publish(replace(skipped, seen=len(world.records)))
    world.play()

    assert world.state(item(world, 1)).status == "cancelled"
    assert world.state().statuses == dict.fromkeys(("both", "lint", "types"), "skipped")
    world.answer(StepExecute)
    assert world.state().status == "completed"


def test_a_person_gives_the_result_of_an_item_and_not_of_all() -> None:
    world = started(each_of())
    fail(world, 10)
    answer(world, 20)

    for execution_id in ("x", item(world, 1)):
        given = StepSettle(
            execution_id=execution_id, step_id="each", outcome="replaced", result={"got": "mine"}
        )
        world.publish(replace(given, seen=len(world.records)))
        world.play()
    answer(world, 30)

    assert "each item of each has a result of its own" in world.said(ExecutionRefused)[0].reason
    assert results(world) == [{"got": "mine"}, {"got": 20}, {"got": 30}]


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


def test_going_back_begins_all_items_anew() -> None:
    world = started(each_of())
    fail(world, 10)
    answer(world, 20)

    world.publish(ExecutionResume(execution_id="x", from_step="each"))
    world.play()

    assert asked(world) == [10, 20]
    assert world.state(item(world, 1)).status == "running"


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


def go_on(world: World, max_cost: float | None = None) -> None:
    if max_cost is None:
        world.publish(ExecutionResume(execution_id="x"))
    else:
        world.publish(ExecutionEdit(execution_id="x", max_cost=max_cost))
    world.play()


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


def test_an_item_that_ends_for_its_step_keeps_its_reason_and_its_place() -> None:
    world = started(each_of(failures="collect"))
    fail(world, 10)

    said = [each for each in world.said(StepItemChanged) if each.item == 1]

    assert [(each.status, each.reason) for each in said] == [
        ("ending", "it broke"),
        ("failed", "it broke"),
    ]


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


def test_an_input_of_an_item_is_changed_without_those_that_it_was_not_given() -> None:
    inputs = (Field(name="list", type="list"), Field(name="how", type="string", default="fast"))
    parameters = MapOf((("n", Ref(("n",))), ("a", Ref(("inputs", "how")))))
    world = World(process_of(each_of(parameters=parameters), inputs=inputs))
    world.start(inputs={"list": [10], "how": "well"})
    fail(world, 10)

    changed = ExecutionEdit(execution_id=item(world, 1), inputs={"how": "again"})
    world.publish(changed)
    world.play()

    assert not world.said(ExecutionRefused)
    assert world.open(StepExecute)[0][1].parameters == {"n": 10, "a": "again"}
    assert world.state(item(world, 1)).begun().inputs == {"how": "again"}
