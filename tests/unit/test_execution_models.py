"""Models that fail, and answers that do not fit."""

from typing import Any

import pytest

from cortex.bus.events import (
    ContextCompile,
    ExecutionCancel,
    ExecutionCharged,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPause,
    ExecutionPaused,
    ExecutionRequest,
    ExecutionResume,
    ModelFailed,
    ModelInvoke,
    StepExecute,
    StepFailed,
    StepWake,
)
from cortex.runtime.executions import wait_before_call
from cortex.runtime.processes import Budget, Retry

from .execution_world import SECOND_NS, World, action_step, answer_to, child_step, process_of

WHY = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}


def asked_of_a_model(**more: Any) -> World:
    world = World(process_of(action_step("one", asks_model=True, **more)))
    world.start()
    world.answer(ContextCompile)
    return world


def fail_model(world: World, kind: str, **more: Any) -> None:
    position, asked = world.open(ModelInvoke)[0]
    place = {"execution_id": "x", "step_id": asked.step_id, "attempt": asked.attempt}
    more = {"error": "no", "call": asked.call, "turn": asked.turn, **more}
    world.settle(position, ModelFailed(**place, model=asked.model, kind=kind, **more))


def test_what_a_failed_call_took_counts_as_any_other() -> None:
    world = asked_of_a_model()

    fail_model(world, "cut_off", input_tokens=700, output_tokens=50, cost=0.25)
    fail_model_again = world.state()
    world.fire()
    world.play()
    world.answer(ModelInvoke, cost=0.5, input_tokens=700, output_tokens=60)

    state = world.state()
    assert (fail_model_again.cost, fail_model_again.tokens) == (0.25, 750)
    assert (state.cost, state.attempt_cost, state.tokens) == (0.75, 0.75, 1_510)
    assert (state.usage.input, state.usage.output) == (1_400, 110)


def answer_model(world: World, **answer: Any) -> None:
    world.answer(ModelInvoke, answer=answer)


@pytest.mark.parametrize("kind", ["rate_limited", "overloaded", "unreachable", "cut_off"])
def test_what_passes_by_itself_is_asked_again_with_the_same_prompt(kind: str) -> None:
    world = asked_of_a_model()

    fail_model(world, kind)
    at_once = len(world.open(ModelInvoke))
    world.fire()
    world.play()
    world.answer(ModelInvoke)
    world.answer(StepExecute)

    first, second = world.said(ModelInvoke)
    assert at_once == 0
    assert (first.call, second.call) == (1, 2)
    assert (first.prompt, first.attempt) == (second.prompt, second.attempt)
    assert world.state().status == "completed"
    assert len(world.said(ContextCompile)) == 1


def test_a_model_is_asked_five_times_at_most() -> None:
    world = asked_of_a_model()

    for _ in range(4):
        fail_model(world, "overloaded", error="529")
        world.fire()
        world.play()
    fail_model(world, "overloaded", error="529")

    assert [asked.call for asked in world.said(ModelInvoke)] == [1, 2, 3, 4, 5]
    error = world.said(StepFailed)[0].error
    assert error == "extractive was asked 5 times: overloaded: 529"
    assert world.deadlines == {}


@pytest.mark.parametrize("kind", ["unauthorised", "garbage", "timeout", "refused", "missing"])
def test_what_does_not_pass_fails_the_attempt_and_is_named(kind: str) -> None:
    world = asked_of_a_model()

    fail_model(world, kind, error="because", retry=False)

    assert world.said(StepFailed)[0].error == f"extractive: {kind}: because"
    assert world.state().status == "halted"


def test_an_endpoint_is_left_alone_for_as_long_as_it_asks() -> None:
    world = asked_of_a_model()

    fail_model(world, "rate_limited", retry_after_s=60.0)
    [(at_ns, _)] = world.deadlines.values()

    assert 60 <= (at_ns - world.now_ns) / SECOND_NS <= 90


@pytest.mark.parametrize("asked_s", [None, 0.0, -5.0, 2.0, 1e12, float("inf"), float("nan")])
@pytest.mark.parametrize("calls", [1, 2, 4])
def test_waits_grow_and_stay_in_bounds(asked_s: float | None, calls: int) -> None:
    waits = [wait_before_call(calls, asked_s, fraction) for fraction in (0.0, 0.5, 1.0)]

    assert waits == sorted(waits)
    assert all(2.0 * 2 ** (calls - 1) <= wait_s <= 300.0 for wait_s in waits)


def test_those_who_were_refused_together_do_not_come_back_together() -> None:
    world = World(process_of(action_step("one", asks_model=True)))
    world.publish(*[ExecutionRequest(execution_id=f"x{n}", process="p") for n in range(5)])
    world.play()
    for _ in range(5):
        world.answer(ContextCompile)

    for position, asked in world.open(ModelInvoke):
        place = {"execution_id": asked.execution_id, "step_id": "one", "model": "m"}
        world.settle(position, ModelFailed(**place, error="no", kind="overloaded"))

    assert len({at_ns for at_ns, _ in world.deadlines.values()}) == 5


def test_a_pause_while_a_model_is_waited_for_is_taken_at_once() -> None:
    world = asked_of_a_model(timeout_s=60.0)

    fail_model(world, "overloaded")
    world.publish(ExecutionPause(execution_id="x"))
    world.play()
    left = dict(world.deadlines)
    world.publish(ExecutionResume(execution_id="x"))
    world.play()

    assert len(world.said(ExecutionPaused)) == 1
    assert left == {}
    assert [asked.call for asked in world.said(ModelInvoke)] == [1, 2]
    assert [name.rsplit("/", 1)[1] for name in world.deadlines] == ["timeout"]


def test_a_pause_that_was_asked_for_is_taken_before_the_model_is_asked_again() -> None:
    world = asked_of_a_model()

    world.publish(ExecutionPause(execution_id="x"))
    world.play()
    fail_model(world, "overloaded")

    assert world.state().status == "paused"
    assert world.deadlines == {}


def test_a_cancel_while_a_model_is_waited_for_leaves_nothing_behind() -> None:
    world = asked_of_a_model(timeout_s=60.0)

    fail_model(world, "overloaded")
    world.publish(ExecutionCancel(execution_id="x"))
    world.play()

    assert world.deadlines == {}
    assert world.state().status == "cancelled"


def test_the_time_of_a_step_runs_while_a_model_is_waited_for() -> None:
    world = asked_of_a_model(timeout_s=5.0)

    fail_model(world, "rate_limited", retry_after_s=60.0)
    world.fire()
    world.play()

    assert world.said(StepFailed)[0].kind == "timeout"
    assert world.deadlines == {}
    assert len(world.said(ModelInvoke)) == 1


def test_a_deadline_that_comes_twice_asks_the_model_once() -> None:
    world = asked_of_a_model()

    fail_model(world, "overloaded")
    [(_, draft)] = world.deadlines.values()
    world.fire()
    world.play()
    world.append(draft, "hub")
    world.play()

    assert len(world.said(ModelInvoke)) == 2


def test_the_schema_of_an_answer_goes_to_the_context_and_to_the_model() -> None:
    world = asked_of_a_model(answer=WHY)

    answer_model(world, text="", data={"why": "so"})

    assert world.said(ContextCompile)[0].answer_schema == WHY
    assert world.said(ModelInvoke)[0].answer_schema == WHY
    assert world.said(StepExecute)[0].answer["data"] == {"why": "so"}


def test_an_answer_without_data_is_read_from_its_text() -> None:
    world = asked_of_a_model(answer=WHY)

    answer_model(world, text='Here it is:\n```json\n{"why": "so"}\n```')

    assert world.said(StepExecute)[0].answer["data"] == {"why": "so"}


def test_an_answer_that_does_not_fit_is_asked_for_once_more_with_what_is_wrong() -> None:
    world = asked_of_a_model(answer=WHY)

    answer_model(world, text="", data={"why": 3})
    again = world.said(ContextCompile)[-1]
    world.answer(ContextCompile)
    answer_model(world, text="", data={"why": "so"})

    assert (again.turn, again.attempt, again.model) == (1, 1, "extractive")
    assert again.problem == "$.why 3 is not of type 'string'"
    assert world.said(StepExecute)[0].answer["data"] == {"why": "so"}


def test_quotations_that_do_not_fit_twice_fail_the_attempt_and_say_that_no_model_was_asked() -> (
    None
):
    world = asked_of_a_model(answer=WHY)

    answer_model(world, text="", data={"why": 3})
    world.answer(ContextCompile)
    answer_model(world, text="no JSON at all")

    failed = world.said(StepFailed)[0]
    assert failed.kind == "wrong_answer"
    assert failed.error == (
        "no model was asked, and quotations are no answer to one (the answer is not JSON, expected "
        "an object): name a model under [models] in config.toml, then resume"
    )
    assert world.said(StepExecute) == []


def test_a_new_attempt_may_be_wrong_once_again() -> None:
    world = asked_of_a_model(answer=WHY, retry=Retry(attempts=2, backoff_s=0))

    for _ in range(3):
        answer_model(world, text="", data={})
        world.answer(ContextCompile)
    answer_model(world, text="", data={"why": "so"})

    places = [(e.attempt, e.turn, bool(e.problem)) for e in world.said(ContextCompile)]
    assert places == [(1, 0, False), (1, 1, True), (2, 0, False), (2, 1, True)]
    assert len(world.said(StepExecute)) == 1


def test_an_answer_that_was_refused_fails_with_what_was_said() -> None:
    world = asked_of_a_model(answer=WHY)

    world.answer(ModelInvoke, answer={"text": "I will not"}, stop="refused")

    failed = world.said(StepFailed)[0]
    assert (failed.kind, failed.retry) == ("refused", False)
    assert failed.error == "extractive refused to answer: I will not"


def test_what_was_spent_is_told_by_class_with_that_of_children() -> None:
    inner = process_of(action_step("a", asks_model=True), name="inner")
    world = World(
        process_of(action_step("one", asks_model=True), child_step("two", "inner")), inner
    )
    classes = {"input_tokens": 10, "cached_read_tokens": 20, "cached_write_tokens": 30}

    world.start()
    world.answer(ContextCompile)
    world.answer(ModelInvoke, cost=0.5, **classes)
    world.answer(StepExecute)
    world.answer(ContextCompile)
    world.answer(ModelInvoke, cost=0.25)
    world.answer(StepExecute)

    done = world.said(ExecutionCompleted)[-1]
    charged = world.said(ExecutionCharged)[0]
    assert (done.cost, done.own_cost) == (0.75, 0.5)
    assert done.own_usage == {"input": 10, "cached_read": 20, "cached_write": 30, "output": 7}
    assert done.usage == {"input": 110, "cached_read": 20, "cached_write": 30, "output": 14}
    assert (charged.cost, charged.total_cost) == (0.25, 0.75)
    assert done.tokens == sum(done.usage.values())


def test_an_execution_that_spent_its_money_asks_no_model_any_more() -> None:
    steps = (action_step("one", asks_model=True), action_step("two", asks_model=True))
    world = World(process_of(*steps))

    world.start(max_cost=0.2)
    world.answer(ContextCompile)
    world.answer(ModelInvoke, cost=0.25)
    world.answer(StepExecute)

    failed = world.said(StepFailed)[0]
    assert (failed.step_id, failed.kind, failed.retry) == ("two", "budget", False)
    assert failed.error.startswith("the execution has spent $0.25 of the $0.2 that it may")
    assert world.said(ExecutionHalted)[0].cost == 0.25


def test_a_child_may_spend_what_its_parent_has_left() -> None:
    inner = process_of(action_step("a", asks_model=True), name="inner")
    world = World(
        process_of(action_step("one", asks_model=True), child_step("two", "inner")), inner
    )

    world.start(max_cost=1.0)
    world.answer(ContextCompile)
    world.answer(ModelInvoke, cost=0.75)
    world.answer(StepExecute)

    assert world.said(ExecutionRequest)[-1].max_cost == 0.25
    asked = world.said(ContextCompile)[-1]
    assert (asked.left, asked.spent) == (0.25, 0.0)


def test_the_time_of_a_budget_is_a_recorded_deadline() -> None:
    world = asked_of_a_model(budget=Budget(time_s=5.0), retry=Retry(attempts=3))

    world.fire()
    world.play()

    failed = world.said(StepFailed)[0]
    assert world.said(StepWake)[0].what == "budget"
    assert (failed.kind, failed.retry) == ("budget", False)
    assert failed.error == "one took the 5 s that its budget allows"
    assert world.said(ExecutionFailed) == []


@pytest.mark.parametrize("forged", ["answer", "failure"])
def test_nobody_but_their_provider_answers_in_a_persons_name(forged: str) -> None:
    world = World(process_of(action_step("one", asks_model=True)))
    world.start()
    world.answer(ContextCompile, provider="human")
    asked = world.open(ModelInvoke)[0][1]
    said: Any = answer_to(asked, by="anna")
    if forged == "failure":
        place = {"execution_id": "x", "step_id": "one", "model": asked.model}
        said = ModelFailed(**place, kind="missing", error="gone")

    world.publish(said, source="mallory")
    world.play()
    before = world.state().stage
    world.publish(answer_to(asked, by="anna"), source="HumanProvider")
    world.play()
    world.restart()

    assert (before, world.state().stage) == ("model", "handler")


# Answers that do not fit, where there are better models.


def compile_for(world: World, model: str, *better: str) -> None:
    world.answer(ContextCompile, model=model, better=better)


def test_an_answer_that_does_not_fit_goes_to_the_next_better_model() -> None:
    world = World(process_of(action_step("one", answer=WHY)))
    world.start()

    compile_for(world, "weak", "good", "best")
    answer_model(world, data={"because": "so"})
    compile_for(world, "good", "best")
    answer_model(world, text="no JSON")
    compile_for(world, "best")
    answer_model(world, data={"why": "the import"})
    world.answer(StepExecute)

    asked = world.said(ContextCompile)
    assert [each.unfit for each in asked] == [(), ("weak",), ("weak", "good")]
    assert [bool(each.problem) for each in asked] == [False, True, True]
    assert world.state().status == "completed"


def test_the_best_model_is_asked_once_more_and_then_the_attempt_fails() -> None:
    world = World(process_of(action_step("one", answer=WHY)))
    world.start()

    compile_for(world, "weak", "best")
    answer_model(world, data={})
    for _ in range(2):
        compile_for(world, "best")
        answer_model(world, data={})

    failed = world.said(StepFailed)[0]
    assert failed.kind == "wrong_answer"
    assert failed.error.startswith("best answered one in a wrong form, and so did weak: ")


def test_an_empty_answer_is_none() -> None:
    world = World(process_of(action_step("one", asks_model=True)))
    world.start()

    compile_for(world, "weak", "best")
    answer_model(world, text=" \n")
    compile_for(world, "best")
    answer_model(world, text="done")

    assert [each.unfit for each in world.said(ContextCompile)] == [(), ("weak",)]
    assert len(world.said(StepExecute)) == 1


def test_a_better_model_is_not_asked_when_the_budget_is_spent() -> None:
    world = World(process_of(action_step("one", answer=WHY, budget=Budget(cost=0.5))))
    world.start()

    compile_for(world, "weak", "best")
    world.answer(ModelInvoke, answer={"data": {}}, cost=0.6)

    assert len(world.said(ContextCompile)) == 1
    assert world.said(StepFailed)[0].kind == "budget"


def test_a_choice_of_an_older_log_names_no_better_model_and_is_decided_as_then() -> None:
    world = World(process_of(action_step("one", answer=WHY)))
    world.start()

    for _ in range(2):
        compile_for(world, "weak")
        answer_model(world, data={})

    assert [each.unfit for each in world.said(ContextCompile)] == [(), ()]
    assert "weak answered one twice in a wrong form" in world.said(StepFailed)[0].error
