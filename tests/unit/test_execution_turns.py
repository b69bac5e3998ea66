"""Agent steps: a model thinks, uses tools, sees what came of it, and answers."""

from typing import Any

import pytest
from msgspec.structs import replace

from cortex.actors.engines import ProcessExecutionEngine
from cortex.bus.events import (
    VOCABULARY,
    ContextCompile,
    ExecutionCancel,
    ExecutionPause,
    ExecutionResume,
    ModelInvoke,
    StepExecute,
    StepFailed,
    StepWake,
    ToolCall,
    ToolDenied,
    ToolEnabled,
    ToolFailed,
    ToolListed,
    ToolReturned,
    ToolUnclaimed,
)
from cortex.runtime.kernel import Config
from cortex.runtime.processes import Budget, Retry
from cortex.runtime.registry import NO_SDK, NOT_YET
from cortex.runtime.tools import ToolsConfig

from .execution_world import World, action_step, process_of, tool

TOOLS = (tool("read"), tool("search"), tool("grep", "finding"))


def agent(*tools: str, **more: Any) -> World:
    step = action_step("one", tools=tools or ("read", "search"), **more)
    world = World(process_of(step))
    world.publish(*TOOLS)
    world.start()
    return world


def think(world: World, *calls: tuple[str, Any], **more: Any) -> None:
    """The next prompt is compiled, and the model asks for *calls*."""
    world.answer(ContextCompile)
    asked = [{"id": f"c{n}", "tool": t, "arguments": a} for n, (t, a) in enumerate(calls)]
    answer = {"text": "", "calls": asked} if calls else {"text": "done"}
    world.answer(ModelInvoke, answer=answer, stop="calls" if calls else "end", **more)


def test_a_model_uses_tools_until_it_answers() -> None:
    world = agent()

    think(world, ("read", {"path": "a"}), ("search", {}))
    world.answer(ToolCall)
    between = [asked.turn for asked in world.said(ContextCompile)]
    world.answer(ToolCall)
    think(world, ("read", {"path": "b"}))
    world.answer(ToolCall)
    think(world)
    world.answer(StepExecute)

    calls = [(c.turn, c.tool, c.provider, c.arguments) for c in world.said(ToolCall)]
    assert calls == [
        (0, "read", "tools", {"path": "a"}),
        (0, "search", "tools", {}),
        (1, "read", "tools", {"path": "b"}),
    ]
    assert between == [0]
    assert [asked.turn for asked in world.said(ContextCompile)] == [0, 1, 2]
    assert len({call.call_id for call in world.said(ToolCall)}) == 3
    assert world.said(StepExecute)[0].answer == {"text": "done"}
    assert world.state().status == "completed"
    assert world.deadlines == {}


def test_an_answer_after_tools_is_validated_as_any() -> None:
    why = {"type": "object", "required": ["why"]}
    world = agent(answer=why)

    think(world, ("read", {}))
    world.answer(ToolCall)
    think(world)

    asked = world.said(ContextCompile)[-1]
    assert asked.turn == 2
    assert asked.problem == "the answer is not JSON, expected an object"


def test_what_a_step_may_not_use_is_denied_and_the_model_goes_on() -> None:
    world = agent("read")

    think(world, ("search", {}), ("read", "no map"), ("reed", {}))

    reasons = [denied.reason for denied in world.said(ToolDenied)]
    assert reasons == [
        "there is no tool 'search' in this step: there are read",
        "read takes an object with its arguments, got str",
        "there is no tool 'reed' in this step: did you mean read?",
    ]
    assert world.said(ToolCall) == []
    assert world.said(ContextCompile)[-1].turn == 1


def test_a_pack_is_enabled_by_an_event_and_its_tools_from_the_next_turn_on() -> None:
    world = agent("finding")

    think(world, ("enable_pack", {"pack": "finding"}), ("grep", {}))
    think(world, ("grep", {}))

    assert [enabled.pack for enabled in world.said(ToolEnabled)] == ["finding"]
    assert "not enabled" in world.said(ToolDenied)[0].reason
    assert [(call.turn, call.tool) for call in world.said(ToolCall)] == [(1, "grep")]


def test_tools_of_a_server_are_those_that_it_lists_at_that_moment() -> None:
    world = agent("tracker.*")

    world.publish(ToolListed(server="tracker", tools=({"name": "find"}, {"name": "open"})))
    think(world, ("tracker.find", {}), ("tracker__open", {}))
    world.publish(ToolListed(server="tracker", tools=({"name": "find"},)))
    world.answer(ToolCall)
    world.answer(ToolCall)
    think(world, ("tracker.open", {}))

    asked = [(call.turn, call.tool, call.provider) for call in world.said(ToolCall)]
    assert asked == [(0, "tracker.find", "mcp"), (0, "tracker.open", "mcp")]
    assert "there is no tool 'tracker.open'" in world.said(ToolDenied)[0].reason


@pytest.mark.parametrize("kind", [ToolFailed, ToolDenied])
def test_a_tool_that_fails_is_an_observation(kind: type[ToolFailed | ToolDenied]) -> None:
    world = agent()

    think(world, ("read", {}))
    position, call = world.open(ToolCall)[0]
    place: dict[str, Any] = {"execution_id": "x", "step_id": "one", "turn": 0, "tool": "read"}
    why: dict[str, Any] = {"error": "no"} if kind is ToolFailed else {"reason": "no"}
    world.settle(position, kind(**place, call_id=call.call_id, **why))

    assert world.said(ContextCompile)[-1].turn == 1
    assert world.said(StepFailed) == []


def test_a_tool_that_never_answers_is_given_up_and_the_model_goes_on() -> None:
    world = agent()

    think(world, ("read", {}), ("search", {}))
    world.answer(ToolCall)
    world.fire()
    world.play()

    failed = world.said(ToolFailed)
    assert [(each.tool, each.kind) for each in failed] == [("search", "timeout")]
    assert failed[0].error == "it did not answer within 120 s"
    assert world.said(ContextCompile)[-1].turn == 1


def test_a_late_result_and_a_late_deadline_change_nothing() -> None:
    world = agent()

    think(world, ("read", {}), ("search", {}))
    [(_, early)] = world.deadlines.values()
    world.answer(ToolCall)
    world.append(early, "hub")
    world.play()
    none_yet = len(world.said(ToolFailed))
    world.fire()
    world.play()
    before = len(world.said())
    _, late = world.open(ToolCall)[0]
    place: dict[str, Any] = {"execution_id": "x", "step_id": "one", "turn": 0, "tool": "search"}
    world.publish(ToolReturned(**place, call_id=late.call_id, result="b"))
    world.play()

    assert none_yet == 0
    assert len(world.said(StepWake)) == 2
    assert len(world.said()) == before + 1


def test_a_tool_whose_component_gives_up_is_an_observation() -> None:
    world = agent()

    think(world, ("read", {}))
    world.park(world.open(ToolCall)[0][0], "Tools")
    world.play()

    assert "it raised" in world.said(ToolFailed)[0].error
    assert world.said(ContextCompile)[-1].turn == 1


@pytest.mark.parametrize(
    ("budget", "line"),
    [
        (Budget(turns=1), "one took the turn that its budget allows, and wants another"),
        (Budget(tokens=100), "one has spent 107 of the 100 tokens that its budget allows"),
        (Budget(cost=0.2), "one has spent $0.25 of the $0.2 that its budget allows"),
    ],
)
def test_a_budget_that_is_spent_ends_the_attempt(budget: Budget, line: str) -> None:
    world = agent(budget=budget)

    think(world, ("read", {}))

    failed = world.said(StepFailed)[0]
    assert (failed.kind, failed.retry, failed.error) == ("budget", False, line)
    assert world.said(ToolCall) == []


def test_twelve_turns_are_allowed_where_nothing_is_laid_down() -> None:
    world = agent()

    for _ in range(11):
        think(world, ("read", {}))
        world.answer(ToolCall)
    think(world, ("read", {}))

    assert len(world.said(ModelInvoke)) == 12
    assert world.said(StepFailed)[0].error.startswith("one took the 12 turns")


def test_an_answer_that_is_paid_for_is_taken_even_where_nothing_is_left() -> None:
    world = agent(budget=Budget(tokens=1, turns=1))

    think(world)

    assert world.said(StepFailed) == []
    assert len(world.said(StepExecute)) == 1


def test_a_pause_is_taken_between_two_turns_and_a_resume_goes_on_there() -> None:
    world = agent(timeout_s=60.0)

    think(world, ("read", {}))
    world.publish(ExecutionPause(execution_id="x"))
    world.play()
    world.answer(ToolCall)
    paused, left = world.state(), dict(world.deadlines)
    world.publish(ExecutionResume(execution_id="x"))
    world.play()

    assert (paused.status, left) == ("paused", {})
    assert [asked.turn for asked in world.said(ContextCompile)] == [0, 1]
    assert [name.rsplit("/", 1)[1] for name in world.deadlines] == ["timeout"]


def test_a_cancel_and_a_timeout_drop_what_tools_are_waited_for() -> None:
    cancelled, late = agent(timeout_s=5.0), agent(timeout_s=5.0)

    for world in (cancelled, late):
        think(world, ("read", {}))
    cancelled.publish(ExecutionCancel(execution_id="x"))
    cancelled.play()
    late.fire()
    late.play()

    assert (cancelled.deadlines, late.deadlines) == ({}, {})
    assert late.said(StepFailed)[0].kind == "timeout"


def test_ids_of_calls_that_a_model_repeats_are_told_apart() -> None:
    world = agent()
    repeated = [{"id": "same", "tool": "read", "arguments": {}}] * 3

    world.answer(ContextCompile)
    world.answer(ModelInvoke, answer={"text": "", "calls": [*repeated, "nonsense", None]})

    ids = [call.call_id for call in world.said(ToolCall)]
    assert ids[0] == "same"
    assert len(set(ids)) == 3
    assert len(world.said(ToolDenied)) == 2


def test_calls_beyond_reason_are_not_looked_at() -> None:
    world = agent()

    think(world, *[("read", {})] * 1_000)

    assert len(world.said(ToolCall)) == 32
    assert [denied.reason for denied in world.said(ToolDenied)] == [
        "at most 32 calls of one turn are carried out"
    ]


def test_a_step_without_tools_takes_no_calls() -> None:
    world = World(process_of(action_step("one", asks_model=True)))

    world.start()
    think(world, ("read", {}))

    assert world.said(ToolCall, ToolDenied) == []
    assert world.said(ContextCompile)[-1].problem == "the answer is empty, expected text"
    think(world)
    assert len(world.said(StepExecute)) == 1


# Servers of tools that are slow to say what they offer.

SILENT = ToolListed(server="far", reason=NOT_YET)
FAR = ToolListed(server="far", tools=({"name": "look", "parameters": {"type": "object"}},))


def slow(*tools: str) -> World:
    world = World(process_of(action_step("one", tools=tools)))
    world.publish(*TOOLS, SILENT)
    world.start()
    return world


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("entry", ["far", "far.*", "far.look"])
def test_the_first_prompt_waits_for_a_server_that_has_not_answered_yet(
    entry: str, restarts: bool
) -> None:
    world = slow("read", entry)
    world.fire()
    world.play()
    waited = list(world.said(ContextCompile))

    world.publish(FAR)
    if restarts:
        world.restart()
    world.fire()
    world.play()

    assert waited == []
    assert len(world.said(ContextCompile)) == 1


def test_a_server_that_cannot_be_asked_holds_nothing_up() -> None:
    world = slow("far")

    world.publish(ToolListed(server="far", reason="no such program"))
    world.fire()
    world.play()

    assert len(world.said(ContextCompile)) == 1


def test_a_server_that_never_answers_is_waited_for_a_minute() -> None:
    world = slow("far")
    began_ns = world.now_ns

    while not world.said(ContextCompile):
        assert world.fire()
        world.play()

    assert 55e9 < world.now_ns - began_ns < 65e9
    assert len(world.said(StepWake)) < 40
    assert world.state().stage == "context"


def test_a_step_that_names_another_server_does_not_wait() -> None:
    assert len(slow("read", "near").said(ContextCompile)) == 1


def test_an_execution_that_waits_for_a_server_can_be_paused_and_cancelled() -> None:
    paused, cancelled = slow("far"), slow("far")

    paused.publish(ExecutionPause(execution_id="x", reason="lunch"))
    cancelled.publish(ExecutionCancel(execution_id="x"))
    for world in (paused, cancelled):
        world.play()
        world.fire()
        world.play()

    assert paused.state().status == "paused"
    paused.publish(FAR, ExecutionResume(execution_id="x"))
    paused.play()
    assert len(paused.said(ContextCompile)) == 1
    assert cancelled.state().status == "cancelled"
    assert cancelled.said(ContextCompile) == []


# Tools that were promised when the process was linked.


def promising(*tools: str, retry: Retry | None = None) -> World:
    more: dict[str, Any] = {"retry": retry} if retry else {}
    return World(process_of(action_step("one", tools=tools, promised=tools, **more)))


def wait_out(world: World) -> None:
    while world.fire():
        world.play()


def test_a_step_whose_tool_is_missing_is_held_and_the_hold_is_recorded() -> None:
    world = promising("read", "far.look")
    world.publish(*TOOLS, ToolListed(server="far", reason="its command is not installed"))

    world.start()
    held = world.said(ToolUnclaimed)
    for _ in range(5):
        world.fire()
        world.play()
    waited = world.said(ContextCompile)
    world.publish(FAR)
    world.fire()
    world.play()

    assert [(each.tools, each.reasons, each.wait_s) for each in held] == [
        (("far.look",), ("far: its command is not installed",), 60.0)
    ]
    assert waited == []
    assert len(world.said(ToolUnclaimed)) == 1
    assert world.said(ContextCompile)[0].tools == ("read", "far.look")


def test_a_step_is_not_held_for_a_tool_that_cannot_come() -> None:
    world = promising("read", "far.look", "gone")
    world.publish(*TOOLS, ToolListed(server="far", reason=NO_SDK))
    began_ns = world.now_ns

    world.start()

    assert world.now_ns - began_ns < 1e9
    assert world.said(ToolUnclaimed, ContextCompile) == []
    failed = world.said(StepFailed)[0]
    assert failed.kind == "missing"
    assert "pip install 'cortex-runtime[mcp]'" in failed.error


def test_a_tool_that_stays_missing_fails_the_step_and_no_model_is_asked() -> None:
    world = promising("gone")
    began_ns = world.now_ns

    world.start()
    wait_out(world)

    failed = world.said(StepFailed)[0]
    assert failed.kind == "missing"
    assert failed.error.startswith(
        "one declares the tool gone, which no component or server offers: start what"
    )
    assert 55e9 < world.now_ns - began_ns < 65e9
    assert world.said(ContextCompile, ModelInvoke) == []
    assert world.state().status == "halted"


def test_a_later_attempt_does_not_go_without_the_tool_either() -> None:
    world = promising("gone", retry=Retry(attempts=3, backoff_s=5))

    world.start()
    wait_out(world)

    assert [failed.attempt for failed in world.said(StepFailed)] == [1, 2, 3]
    assert world.said(ContextCompile) == []


def test_how_long_a_step_is_held_is_configured() -> None:
    world = promising("gone")
    tools = ToolsConfig(wait_s=0)
    world.engine = ProcessExecutionEngine(
        world.history, VOCABULARY, world.blobs, replace(Config(), tools=tools)
    )

    world.start()

    assert world.said(StepFailed)[0].kind == "missing"
    assert world.said(StepWake, ToolUnclaimed) == []


def test_a_held_step_can_be_paused_and_cancelled() -> None:
    paused, cancelled = promising("far.look"), promising("far.look")
    for world, ask in (
        (paused, ExecutionPause(execution_id="x", reason="lunch")),
        (cancelled, ExecutionCancel(execution_id="x")),
    ):
        world.start()
        world.publish(ask)
        world.play()
        wait_out(world)

    assert paused.state().status == "paused"
    paused.publish(FAR, ExecutionResume(execution_id="x"))
    paused.play()
    assert len(paused.said(ContextCompile)) == 1
    assert cancelled.state().status == "cancelled"


def test_a_process_of_an_older_log_goes_on_without_a_missing_tool_as_it_did() -> None:
    world = World(process_of(action_step("one", tools=("gone",))))

    world.start()

    assert len(world.said(ContextCompile)) == 1
    assert world.said(ToolUnclaimed) == []
