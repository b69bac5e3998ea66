"""Items that pause, ask a person or are settled by one, and the step that waits for them."""

from typing import Any

from msgspec.structs import replace

from cortex.bus.events import (
    ContextCompile,
    EffectIntended,
    EffectSettle,
    EffectUnknown,
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionEdit,
    ExecutionPause,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResume,
    GateEvaluate,
    ModelInvoke,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepSettle,
)
from cortex.runtime.processes import (
    Field,
    MapOf,
    Ref,
)

from .execution_fan_world import answer, asked, branches, each_of, fail, item, results, started
from .execution_world import (
    World,
    action_step,
    answer_to,
    gate,
    process_of,
)


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

    assert "each item of each has its own result" in world.said(ExecutionRefused)[0].reason
    assert results(world) == [{"got": "mine"}, {"got": 20}, {"got": 30}]


def test_other_inputs_do_not_change_items_that_were_begun() -> None:
    world = started(each_of())
    fail(world, 10)
    answer(world, 20)

    world.publish(ExecutionEdit(execution_id="x", inputs={"list": [1]}))
    world.play()

    assert "the items of each keep their earlier inputs" in world.said(ExecutionRefused)[0].reason


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
