"""The sequence of an execution through its process, when all is well."""

from cortex.bus.events import (
    ContextCompile,
    ExecutionCompleted,
    ExecutionFailed,
    GateEvaluate,
    ModelInvoke,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepSkipped,
)
from cortex.runtime.processes import Carry, Field, LinkedTopic, MapOf, Needs, Output, Ref

from .execution_world import (
    ORIGIN,
    World,
    action_step,
    child_step,
    compare,
    constant,
    gate,
    process_of,
)

BY_ONE = Ref(("steps", "one", "by"))


def test_steps_run_in_order_and_the_outcome_is_recorded() -> None:
    world = World(
        process_of(
            action_step("one"),
            action_step("two"),
            outputs=(Output(name="by", type="string", value=BY_ONE),),
        )
    )

    world.start(goal="a goal", workspace="/tmp/w")
    world.answer_all()

    assert [asked.step_id for asked in world.said(StepExecute)] == ["one", "two"]
    assert world.said(StepExecute)[0].goal == "a goal"
    outcome = world.said(ExecutionCompleted)[0]
    assert outcome.outputs == {"by": "one"}
    assert outcome.duration_s > 0
    assert world.state().status == "completed"


def test_nothing_is_asked_before_the_answer_to_the_last_question() -> None:
    world = World(process_of(action_step("one"), action_step("two"), gates=(gate("g"),)))

    world.start()

    assert world.topics() == ["execution.request", "execution.started", "gate.evaluate"]


def test_gates_of_the_process_and_of_a_step_are_asked_one_by_one_in_order() -> None:
    step = action_step("one", gates=(gate("c", path="a"), gate("d")))
    world = World(process_of(step, gates=(gate("a"), gate("b"))))

    world.start(trigger="t", goal="g", workspace="/w")
    world.answer_all()

    asked = [(g.step_id, g.index, g.gate) for g in world.said(GateEvaluate)]
    assert asked == [("", 0, "a"), ("", 1, "b"), ("one", 0, "c"), ("one", 1, "d")]
    assert world.said(GateEvaluate)[2].parameters == {"path": "a"}
    assert (world.said(GateEvaluate)[0].trigger, world.said(GateEvaluate)[0].goal) == ("t", "g")
    assert world.state().status == "completed"


def test_a_step_that_asks_a_model_gets_its_answer_through_a_compiled_context() -> None:
    topic = LinkedTopic(topic="a.b", path="/k/a/b.md", digest="d", root="project", origin=ORIGIN)
    step = action_step(
        "two",
        asks_model=True,
        description="find out",
        knowledge=(topic,),
        carry=(Carry(step="one"),),
        strategy="just-in-time",
        needs=Needs(reasoning="high"),
        tools=("grep",),
        parameters=MapOf((("who", BY_ONE),)),
    )
    world = World(process_of(action_step("one"), step))

    world.start(goal="know")
    world.answer_all()

    asked = world.said(ContextCompile)[0]
    assert asked.carry == {"one": {"by": "one"}}
    assert asked.knowledge == (
        {"topic": "a.b", "path": "/k/a/b.md", "digest": "d", "root": "project"},
    )
    assert (asked.needs, asked.tools, asked.goal) == ({"reasoning": "high"}, ("grep",), "know")
    assert asked.strategy == "just-in-time"
    invoked = world.said(ModelInvoke)[0]
    assert (invoked.prompt, invoked.model) == ("prompt of two/1", "extractive")
    assert invoked.max_tokens == 900
    executed = world.said(StepExecute)[1]
    assert executed.answer == {"text": "because"}
    assert executed.parameters == {"who": "one"}
    assert world.said(ExecutionCompleted)[0].tokens == 107


def test_carry_shows_one_field_of_a_result_where_only_that_is_declared() -> None:
    carry = (Carry(step="one", field="a"), Carry(step="one", field="b"), Carry(step="none"))
    world = World(process_of(action_step("one"), action_step("two", asks_model=True, carry=carry)))

    world.start()
    world.answer(result={"a": 1, "b": 2, "c": 3})

    assert world.said(ContextCompile)[0].carry == {"one": {"a": 1, "b": 2}}


def test_a_step_whose_condition_does_not_hold_is_skipped_before_its_gates() -> None:
    condition = compare("==", Ref(("inputs", "mode")), constant("full"))
    skipped = action_step("two", when=condition, gates=(gate("g"),))
    world = World(process_of(action_step("one"), skipped, action_step("three")))

    world.start(inputs={"mode": "quick"})
    world.answer_all()

    assert [event.step_id for event in world.said(StepSkipped)] == ["two"]
    assert world.said(GateEvaluate) == []
    assert world.state().statuses == {"one": "completed", "two": "skipped", "three": "completed"}


def test_a_process_whose_steps_are_all_skipped_completes() -> None:
    never = constant(False)
    world = World(process_of(action_step("one", when=never), action_step("two", when=never)))

    world.start()

    assert world.state().status == "completed"


def test_a_child_execution_carries_out_a_step_with_its_outputs_as_the_result() -> None:
    inner = process_of(
        action_step("deep"),
        name="inner",
        outputs=(Output(name="found", type="string", value=Ref(("steps", "deep", "by"))),),
    )
    outer = process_of(
        child_step(
            "one", "inner", parameters=MapOf((("n", constant(3)), ("none", constant(None))))
        ),
        action_step("two", parameters=MapOf((("x", Ref(("steps", "one", "found"))),))),
    )
    world = World(inner, outer)

    world.start(goal="g", workspace="/w")
    child = world.said(StepDelegated)[0].child
    world.answer_all()

    begun = world.state(child).begun()
    assert (begun.parent, begun.parent_step, begun.goal) == ("x", "one", "g")
    assert begun.inputs == {"n": 3}
    assert world.said(StepCompleted)[1].result == {"found": "deep"}
    assert world.said(StepExecute)[1].parameters == {"x": "deep"}
    assert world.state().status == world.state(child).status == "completed"


def test_a_result_that_is_not_what_the_step_has_to_give_fails_the_step() -> None:
    step = action_step("one", output=(Field(name="by", type="integer"),))
    world = World(process_of(step))

    world.start()
    world.answer()

    state = world.state()
    assert state.status == "halted"
    assert "by is 'one', expected: integer" in state.reason
    assert state.results == {}


def test_outputs_that_are_not_as_declared_fail_the_execution_and_are_named() -> None:
    missing = Output(name="path", type="path", value=Ref(("steps", "one", "nothing")))
    world = World(process_of(action_step("one"), outputs=(missing,)))

    world.start()
    world.answer()

    assert "path has no value" in world.said(ExecutionFailed)[0].reason


def test_an_output_that_is_not_required_may_be_left_out() -> None:
    missing = Output(
        name="path", type="path", required=False, value=Ref(("steps", "one", "nothing"))
    )
    world = World(process_of(action_step("one"), outputs=(missing,)))

    world.start()
    world.answer()

    assert world.said(ExecutionCompleted)[0].outputs == {}
