"""Steps with a goal: a model or a person chooses what is done next, until the goal is reached."""

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from cortex.bus.events import (
    VOCABULARY,
    ActionObserved,
    ContextCompile,
    ContextRefused,
    EffectIntended,
    EffectUnknown,
    ExecutionFinish,
    ExecutionPause,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionRequest,
    ExecutionResume,
    GateEvaluate,
    ModelInvoke,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepPropose,
    StepProposed,
    StepSkipped,
    ToolCall,
    ToolDenied,
)
from cortex.runtime.executions import fold
from cortex.runtime.processes import (
    Budget,
    Continue,
    Goal,
    Granted,
    LinkedAction,
    LinkedChild,
    LinkedFan,
    LinkedStep,
)

from .execution_world import ORIGIN, World, action_step, constant, gate, process_of, tool

ANY = {"type": "object", "properties": {}}
TESTS = {
    "type": "object",
    "properties": {"which": {"type": "string"}},
    "additionalProperties": False,
}


def granted(name: str, effect: Any = "none", **more: Any) -> Granted:
    action = LinkedAction(name=name, component="Worker", effect=effect, spec="s")
    return Granted(name=name, action=action, **{"parameters": ANY, **more})


def goal_step(*grants: Granted, step_id: str = "fix", **more: Any) -> LinkedStep:
    goal = {"check": (), **{k: more.pop(k) for k in ("check", "by_hand") if k in more}}
    named = grants or (granted("test", parameters=TESTS), granted("push", "once"))
    text = constant(more.pop("text", "make the tests pass"))
    pursued = Goal(text=text, grants=named, **goal)
    return LinkedStep(id=step_id, action=None, goal=pursued, origin=ORIGIN, **more)


def at_work(*steps: LinkedStep, **more: Any) -> World:
    world = World(process_of(*(steps or (goal_step(),)), name=""))
    world.publish(tool("read"))
    world.start("", goal="make the tests pass", **more)
    return world


def choose(world: World, *calls: tuple[str, Any], text: str = "") -> None:
    """The next prompt is compiled, and its model makes *calls*, or says *text*."""
    turn = len(world.said(ContextCompile))
    world.answer(ContextCompile)
    asked = [{"id": f"t{turn}c{n}", "tool": t, "arguments": a} for n, (t, a) in enumerate(calls)]
    answer = {"text": text, "calls": asked} if calls else {"text": text}
    world.answer(ModelInvoke, answer=answer, stop="calls" if calls else "end")


def test_what_a_model_chooses_is_a_step_and_it_chooses_again_when_that_is_done() -> None:
    world = at_work()

    choose(world, ("test", {"which": "all"}))
    world.answer(StepExecute, result={"passed": False})
    choose(world, ("test", {"which": "one"}))
    world.answer(StepExecute, result={"passed": True})
    choose(world, ("goal_reached", {"summary": "all pass"}))

    asked = [(e.step_id, e.action, e.parameters) for e in world.said(StepExecute)]
    assert asked == [("fix.1", "test", {"which": "all"}), ("fix.2", "test", {"which": "one"})]
    assert [e.turn for e in world.said(ContextCompile)] == [0, 1, 2]
    assert {e.step_id for e in world.said(ContextCompile)} == {"fix"}
    state = world.state()
    assert state.status == "completed"
    assert state.results["fix"] == {
        "answer": "all pass", "actions": 2, "turns": 3, "by": "extractive",
    }  # fmt: skip
    assert world.deadlines == {}


def test_what_was_chosen_is_recorded_in_one_shape_with_its_order_and_outcome() -> None:
    world = at_work()

    choose(world, ("test", {"which": "all"}))
    world.answer(StepExecute)
    choose(world, ("push", {}))
    failed = StepFailed(execution_id="x", step_id="fix.2", error="no remote", retry=False)
    world.settle(world.open(StepExecute)[0][0], failed)
    choose(world, ("give_up", {"reason": "there is no remote"}))

    chosen = [(e.step_id, e.goal, e.turn, e.action, e.by) for e in world.said(StepProposed)]
    assert chosen == [
        ("fix.1", "fix", 0, "test", "extractive"),
        ("fix.2", "fix", 1, "push", "extractive"),
    ]
    seen = [(e.action, e.step_id, e.outcome) for e in world.said(ActionObserved)]
    assert seen == [("test", "fix.1", "completed"), ("push", "fix.2", "failed")]
    assert world.state().status == "halted"
    assert "gave the goal up: there is no remote" in world.state().reason


def test_tools_of_a_turn_come_first_and_one_action_a_turn_is_done() -> None:
    world = at_work(goal_step(tools=("read",)))

    choose(world, ("test", {}), ("read", {"path": "a"}), ("push", {}))

    assert [e.tool for e in world.said(ToolCall)] == ["read"]
    assert [(e.tool, e.reason[:17]) for e in world.said(ToolDenied)] == [
        ("push", "one action a turn")
    ]
    assert world.said(StepExecute) == []
    world.answer(ToolCall)
    assert [e.action for e in world.said(StepExecute)] == ["test"]
    world.answer(StepExecute)
    assert world.said(ContextCompile)[-1].turn == 1


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (("rm", {}), "there is no tool 'rm'"),
        (("test", {"which": 3}), "the parameters of test are not as declared"),
        (("test", {"other": "x"}), "the parameters of test are not as declared"),
    ],
)
def test_what_is_not_granted_or_does_not_fit_is_told_to_the_model(
    call: tuple[str, Any], why: str
) -> None:
    world = at_work()

    choose(world, call)

    assert [e.reason[: len(why)] for e in world.said(ToolDenied)] == [why]
    assert world.said(StepProposed) == []
    assert world.said(ContextCompile)[-1].turn == 1


def test_a_reference_that_a_model_writes_is_a_text() -> None:
    world = at_work(inputs={"secret": "s"})

    choose(world, ("test", {"which": "${inputs.secret}"}))

    assert world.said(StepExecute)[0].parameters == {"which": "${inputs.secret}"}


def test_a_goal_is_reached_when_its_check_passes_and_not_before() -> None:
    world = at_work(goal_step(check=(gate("command"), gate("clean"))))

    choose(world, text="done")
    world.answer(GateEvaluate, outcome="failed", reason="3 tests fail", evidence={"output": "E1"})
    told = world.said(ContextCompile)[-1]
    choose(world, ("test", {}))
    world.answer(StepExecute)
    choose(world, text="now it is")
    world.answer(GateEvaluate)
    world.answer(GateEvaluate)

    assert (told.turn, told.verdict) == (1, "command did not pass: 3 tests fail\nE1")
    asked = [(e.gate, e.index, e.attempt) for e in world.said(GateEvaluate)]
    assert asked == [("command", 0, 1), ("command", 0, 2), ("clean", 1, 1)]
    state = world.state()
    assert state.status == "completed"
    assert (state.results["fix"]["answer"], state.results["fix"]["by"]) == (
        "now it is", "command, clean",
    )  # fmt: skip


def test_a_person_judges_where_the_check_asks_one_and_what_they_say_is_told() -> None:
    world = at_work(goal_step(check=(gate("approved"),)))

    choose(world, ("goal_reached", {"summary": "I added a test"}))
    question = world.said(GateEvaluate)[0].parameters["question"]
    world.answer(GateEvaluate, outcome="waiting", reason=question)
    gate_name = world.said(ExecutionPaused)[-1].gate
    world.publish(
        ExecutionResume(execution_id="x", answer="denied", gate=gate_name, note="and the docs?")
    )
    world.play()
    world.answer(GateEvaluate, outcome="failed", reason="owner denied it")

    assert question == "Is the goal reached? I added a test"
    assert "owner denied it and the docs?" in world.said(ContextCompile)[-1].verdict
    choose(world, text="now with docs")
    assert world.said(GateEvaluate)[-1].answer == ""  # it is another question


def test_gates_before_an_action_are_asked_each_time_and_a_refusal_is_told() -> None:
    world = at_work(goal_step(granted("push", gates=(gate("approved"),))))

    choose(world, ("push", {"to": "main"}))
    question = world.said(GateEvaluate)[0].parameters["question"]
    world.answer(GateEvaluate, outcome="failed", reason="owner denied it")
    choose(world, ("push", {"to": "side"}))
    world.answer(GateEvaluate)
    world.answer(StepExecute)

    assert question == 'Shall push be done with {"to":"main"}?'
    assert [(e.step_id, e.kind) for e in world.said(StepFailed)] == [("fix.1", "gate")]
    assert [e.step_id for e in world.said(StepExecute)] == ["fix.2"]
    assert world.state().status == "running"


def test_a_breakpoint_names_an_action_and_stops_each_time_before_it() -> None:
    world = at_work(breakpoints=("test",))

    choose(world, ("test", {}))
    paused = world.said(ExecutionPaused)[-1]
    world.publish(ExecutionResume(execution_id="x"))
    world.play()

    assert (paused.reason, paused.step_id) == ("breakpoint", "fix.1")
    world.answer(StepExecute)
    assert world.said(ContextCompile)[-1].turn == 1


def test_a_process_that_is_granted_runs_as_a_child() -> None:
    child = Granted(name="triage", child=LinkedChild(process="triage", digest="d"), parameters=ANY)
    world = at_work(goal_step(child))
    world.processes["triage"] = process_of(action_step("one"), name="triage")

    choose(world, ("triage", {"log": "l"}))
    asked = world.said(ExecutionRequest)[-1]
    world.answer(StepExecute)

    assert (asked.process, asked.parent, asked.inputs) == ("triage", "x", {"log": "l"})
    assert asked.tree == "x"
    assert [(e.worktree, e.tree) for e in world.said(StepExecute)] == [(True, "x")]
    assert world.said(StepDelegated)[0].step_id == "fix.1"
    assert world.said(ContextCompile)[-1].turn == 1


def test_an_action_that_asks_a_model_itself_has_turns_of_its_own() -> None:
    action = LinkedAction(
        name="write",
        component="Worker",
        effect="idempotent",
        asks_model=True,
        answer={"type": "object", "required": ["why"]},
        spec="s",
    )
    world = at_work(goal_step(Granted(name="write", action=action, parameters=ANY)))

    choose(world, ("write", {}))
    world.answer(ContextCompile)
    world.answer(ModelInvoke, answer={"text": "no JSON"})
    world.answer(ContextCompile)
    world.answer(ModelInvoke, answer={"text": '{"why": "so"}'})
    world.answer(StepExecute)

    prompts = [(e.step_id, e.turn) for e in world.said(ContextCompile)]
    assert prompts == [("fix", 0), ("fix.1", 0), ("fix.1", 1), ("fix", 1)]
    assert world.said(StepExecute)[0].answer["data"] == {"why": "so"}


def test_who_says_again_and_again_that_the_goal_is_reached_is_stopped() -> None:
    world = at_work(goal_step(check=(gate("command"),)))

    for _ in range(2):
        choose(world, text="done")
        world.answer(GateEvaluate, outcome="failed", reason="red")
    choose(world, ("test", {}))  # something is done in between
    world.answer(StepExecute)
    for _ in range(4):
        choose(world, text="done")
        world.answer(GateEvaluate, outcome="failed", reason="red")

    state = world.state()
    assert state.status == "halted"
    assert state.reason == "the model said 4 times in a row that the goal is reached: red"


def test_a_resume_after_a_halt_goes_on_with_what_was_learnt_and_with_new_bounds() -> None:
    world = at_work(goal_step(budget=Budget(turns=2, cost=0.6)))
    choose(world, ("test", {}))
    world.answer(StepExecute)
    choose(world, ("test", {}))
    halted = world.state()
    world.publish(ExecutionResume(execution_id="x", note="look at the fixture"))
    world.play()

    told = world.said(ContextCompile)[-1]
    assert (told.attempt, told.turn) == (1, 2)
    assert "a person says: look at the fixture" in told.verdict
    choose(world, ("test", {}))
    world.answer(StepExecute)
    assert world.said(ContextCompile)[-1].verdict == ""
    choose(world, text="done")

    assert "took the 2 turns" in halted.reason
    assert world.state().status == "completed"
    assert world.state().results["fix"]["actions"] == 2


def test_a_step_after_a_goal_that_failed_is_no_part_of_its_work() -> None:
    step = goal_step(on_failure=Continue())
    world = World(process_of(step, action_step("after")))
    world.start()

    choose(world, ("give_up", {"reason": "no"}))

    asked = world.said(StepExecute)[-1]
    assert (asked.step_id, asked.worktree) == ("after", False)


def test_each_item_of_a_list_may_have_a_goal_of_its_own() -> None:
    fan = LinkedFan(over=constant(["a", "b"]), name="item", at_once=2)
    world = World(process_of(goal_step(fan=fan)))
    world.start()

    items = [asked.execution_id for _, asked in world.open(ContextCompile)]
    while world.open(ContextCompile):
        choose(world, text="done")

    assert len(items) == 2
    assert all(world.state(item).status == "completed" for item in items)
    assert world.state().status == "completed"


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (Budget(turns=2), "took the 2 turns"),
        (Budget(tokens=150), "tokens that its budget allows"),
        (Budget(cost=0.4), "has spent $0.5 of the $0.4"),
    ],
)
def test_turns_tokens_and_cost_bound_the_work(budget: Budget, why: str) -> None:
    world = at_work(goal_step(budget=budget))

    choose(world, ("test", {}))
    if world.open(StepExecute):
        world.answer(StepExecute)
        choose(world, ("test", {}))

    state = world.state()
    assert state.status == "halted"
    assert len(world.said(StepProposed)) <= 1
    assert why in state.reason
    assert world.said(StepFailed)[-1].kind == "budget"


def test_time_bounds_the_work_of_all_turns_together_and_a_pause_takes_none() -> None:
    world = at_work(goal_step(budget=Budget(time_s=100.0)))
    second = 1_000_000_000

    choose(world, ("test", {}))
    world.now_ns += 60 * second
    world.answer(StepExecute)
    world.publish(ExecutionPause(execution_id="x", reason="lunch"))
    world.play()
    choose(world, ("test", {}))
    world.now_ns += 3_600 * second
    world.publish(ExecutionResume(execution_id="x"))
    world.play()
    left_s = world.said(StepProposed)[-1].timeout_s
    world.answer(StepExecute)
    assert world.state().status == "running"
    choose(world, ("test", {}))
    world.now_ns += 60 * second
    world.answer(StepExecute)

    assert left_s == pytest.approx(40, abs=1)
    assert world.state().status == "halted"
    assert "the time that fix has for its goal is over" in world.state().reason


def test_where_no_model_can_be_asked_a_person_acts() -> None:
    world = at_work()
    refused = ContextRefused(execution_id="x", step_id="fix", reason="no model is there")
    world.settle(world.open(ContextCompile)[0][0], refused)
    paused = world.said(ExecutionPaused)[-1]

    act(world, "test", which="all")
    world.answer(StepExecute)
    again = world.open(ContextCompile)[0]

    assert (paused.reason, paused.step_id) == ("goal", "fix")
    assert "no model is there" in paused.question
    assert world.said(StepProposed)[0].by == "owner"
    assert again[1].turn == 1


def act(world: World, action: str, **parameters: Any) -> None:
    """The owner does something towards the goal."""
    seen = len(world.records)
    asked = StepPropose(execution_id="x", action=action, parameters=parameters, seen=seen)
    world.publish(asked, source="cli")
    world.play()


def finish(world: World, **more: Any) -> None:
    """The owner ends the work."""
    seen = len(world.records)
    world.publish(ExecutionFinish(execution_id="x", seen=seen, **more), source="cli")
    world.play()


def test_by_hand_a_person_acts_and_says_that_it_is_done() -> None:
    world = at_work(goal_step(by_hand=True))

    act(world, "test", which="all")
    world.answer(StepExecute)
    act(world, "push")
    world.answer(StepExecute)
    waiting = world.state()
    finish(world, note="it is green")

    assert (waiting.status, waiting.reason) == ("paused", "goal")
    assert world.said(ContextCompile) == []
    state = world.state()
    assert state.status == "completed"
    assert state.results["fix"] == {
        "answer": "it is green", "actions": 2, "turns": 0, "by": "owner",
    }  # fmt: skip


def test_a_person_may_give_up() -> None:
    world = at_work(goal_step(by_hand=True))

    finish(world, gave_up=True, note="no access")

    assert world.state().status == "failed"
    assert world.state().reason == "owner gave the goal up: no access"


@pytest.mark.parametrize(
    ("action", "parameters", "why"),
    [
        ("rm", {}, "'rm' is not granted to it: it may do test, push"),
        ("test", {"which": 1}, "the parameters of test are not as declared"),
    ],
)
def test_a_person_does_what_is_granted_and_nothing_else(
    action: str, parameters: dict[str, Any], why: str
) -> None:
    world = at_work(goal_step(by_hand=True))

    act(world, action, **parameters)

    assert why in world.said(ExecutionRefused)[-1].reason
    assert world.said(StepExecute) == []
    assert world.state().status == "paused"


@pytest.mark.parametrize("outcome", ["waiting", "failed"])
def test_nobody_acts_or_says_that_it_is_done_before_the_gates_of_the_step_have_passed(
    outcome: str,
) -> None:
    world = at_work(goal_step(granted("push"), gates=(gate("approved"),)))
    world.answer(GateEvaluate, outcome=outcome, reason="no", evidence={"question": "may I?"})

    act(world, "push")
    finish(world)

    assert [each.reason for each in world.said(ExecutionRefused)] == [
        "gate approved of fix comes first: answer it, or resume"
    ] * 2
    assert not world.said(StepExecute)
    assert not world.said(StepCompleted)
    finish(world, gave_up=True)
    assert world.said(StepFailed)[-1].kind == "given_up"


def test_nobody_acts_beside_a_model_that_is_at_work() -> None:
    world = at_work()

    act(world, "test")
    finish(world)

    assert [e.reason for e in world.said(ExecutionRefused)] == ["it is at work: pause it first"] * 2


def test_a_person_acts_after_the_model_gave_up_and_ends_it() -> None:
    world = at_work()
    choose(world, ("give_up", {"reason": "I cannot"}))

    act(world, "test")
    world.answer(StepExecute)
    world.publish(ExecutionPause(execution_id="x"))
    world.play()
    choose(world, ("test", {}))
    finish(world, note="enough")

    assert [e.step_id for e in world.said(StepExecute)] == ["fix.1"]
    assert [e.step_id for e in world.said(StepSkipped)] == ["fix.2"]
    assert world.state().status == "completed"


def test_an_effect_that_may_happen_once_is_asked_about_and_not_begun_again() -> None:
    world = at_work()
    choose(world, ("push", {}))
    about: dict[str, Any] = {
        "execution_id": "x", "step_id": "fix.1", "effect_key": "k", "kind": "action",
        "name": "push", "component": "Worker",
    }  # fmt: skip
    world.publish(EffectIntended(**about))
    world.publish(EffectUnknown(**about, reason="it was killed"))
    world.play()

    state = world.state()

    assert (state.status, state.reason) == ("paused", "effect")
    assert "Did it happen? action push of step fix.1" in state.question
    finish(world)
    assert world.state().status == "paused"


def test_a_goal_is_a_step_among_others_and_what_it_gave_is_there_for_them() -> None:
    steps = (action_step("before"), goal_step(), action_step("after"))
    world = World(process_of(*steps))
    world.start()

    world.answer(StepExecute)
    choose(world, ("test", {}))
    world.answer(StepExecute)
    choose(world, text="done")

    assert world.said(StepExecute)[-1].step_id == "after"
    world.answer(StepExecute)
    assert world.state().status == "completed"


def test_going_back_to_a_goal_begins_it_anew_and_never_at_what_was_chosen() -> None:
    world = World(process_of(goal_step(), action_step("after")))
    world.start()
    choose(world, ("test", {}))
    world.answer(StepExecute)
    choose(world, text="done")
    world.publish(ExecutionPause(execution_id="x"))
    world.play()
    failed = StepFailed(execution_id="x", step_id="after", error="no", retry=False)
    world.settle(world.open(StepExecute)[0][0], failed)

    world.publish(ExecutionResume(execution_id="x", from_step="fix.1"))
    world.play()
    stays = world.state().status
    world.publish(ExecutionResume(execution_id="x", from_step="fix"))
    world.play()
    choose(world, ("test", {}))

    assert stays in ("paused", "halted")
    assert [e.step_id for e in world.said(StepProposed)] == ["fix.1", "fix.2"]
    assert world.said(ContextCompile)[-1].attempt == 2
    assert world.said(StepExecute)[-1].step_id == "fix.2"


def test_any_moment_is_a_moment_to_stop_and_the_fold_goes_on_as_if_nobody_had() -> None:
    def play(stops: bool) -> list[Any]:
        world = at_work(goal_step(check=(gate("command"),), tools=("read",)))
        for name in ("test", "read", "push"):
            choose(world, (name, {}))
            if stops:
                world.restart()
                world.pump_without_commit()
                world.restart()
            world.answer(StepExecute, ToolCall)
            if stops:
                world.restart()
        choose(world, text="done")
        world.answer(GateEvaluate, outcome="failed", reason="no")
        if stops:
            world.restart()
        choose(world, text="done")
        world.answer(GateEvaluate)
        kept = [(r.topic, r.body) for r in world.records if r.topic != "component.announced"]
        assert world.state().status == "completed"
        again = fold("x", world.history("execution/x"), VOCABULARY)
        assert again == world.state()
        return kept

    assert play(True) == play(False)


def test_a_process_without_goals_has_nothing_of_them_in_its_linked_form() -> None:
    assert action_step("one").goal is UNSET
    assert b"goal" not in msgspec.json.encode(process_of(action_step("one")))


def test_a_forged_answer_to_a_chosen_step_changes_nothing() -> None:
    world = at_work()
    choose(world, ("push", {}))

    forged = StepCompleted(execution_id="x", step_id="fix.1", result={"ok": True})
    world.publish(forged, source="stranger")
    world.play()

    assert world.state().statuses == {}
