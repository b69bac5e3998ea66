"""A what-if asks nobody for what is on record, and stops before what is not."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from cortex.actors.accessors import RecordedCallAccessor
from cortex.bus import OWNER, Event, encode
from cortex.bus.events import (
    VOCABULARY,
    ComponentAnnounced,
    ContextCompile,
    ExecutionPaused,
    ExecutionRequest,
    ExecutionResume,
    ExecutionStarted,
    GateEvaluate,
    KnowledgeRequest,
    ModelInvoke,
    StepExecute,
    ToolCall,
    Variation,
)
from cortex.runtime.executions import AGREEMENT, RECORDS
from cortex.runtime.kernel import Delivery, RefusedError
from cortex.runtime.processes import LinkedProcess, LinkedStep, MapOf
from cortex.runtime.what_if import WhatIfDocument, compared

from .execution_fan_world import branches
from .execution_world import World, action_step, answer_to, constant, gate, process_of
from .test_execution_fork import fork, manager_of
from .test_execution_recovery import MODEL, SCRIPT, play, processes, told

CALLS = (GateEvaluate, ModelInvoke, StepExecute, ToolCall)
# What people and accidents do is no part of what the record answers.
NOBODY = SCRIPT.map(
    lambda script: [
        (what, n)
        for what, n in script
        if what not in ("pause", "cancel", "resume", "park", "forge", "restart", "fire")
    ]
)


def straight(process: LinkedProcess) -> LinkedProcess:
    """*process* without what stops for a person, or with the clock."""
    steps = (replace(step, breakpoint=False, timeout_s=None) for step in process.steps)
    return replace(process, steps=tuple(steps))


class RecordedLog:
    """The log of a world, as far as the accessor reads it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
        return [encode(record) for record in self._world.records[after : after + limit]]


class WorldHistory:
    """The history of a world, as far as outcomes read it."""

    vocabulary = VOCABULARY

    def __init__(self, world: World) -> None:
        self._world, self.log = world, self

    def state(self) -> Any:
        return SimpleNamespace(head=len(self._world.records))

    def stream(self, name: str) -> list[Any]:
        return list(self._world.history(name))

    def execution(self, execution_id: str) -> Any:
        return self._world.state(execution_id)

    def refuse_erased(self, execution_id: str) -> None:
        """Nothing is erased."""


def beside(world: World, what_if: str) -> WhatIfDocument:
    history: Any = WorldHistory(world)
    return compared(history, what_if)


def accessor_of(world: World) -> RecordedCallAccessor:
    log: Any = RecordedLog(world)
    return RecordedCallAccessor(log, VOCABULARY)


def what_if(
    world: World,
    of: str = "x",
    execution_id: str = "w",
    source: str = OWNER,
    prompt: str = "",
    **fields: Any,
) -> None:
    """Ask for a what-if of *of*, and go on until nothing more happens."""
    began, head = world.state(of).begun(), len(world.records)
    variation = Variation(through=head, what_if=True, **fields)
    request = ExecutionRequest(
        execution_id=execution_id,
        fork_of=of,
        process=began.process,
        workspace=began.workspace,
        variation=variation,
    )
    world.publish(request, source=source)
    manager = manager_of(world)
    world.pump(manager)
    go_on(world, prompt)


def go_on(world: World, prompt: str = "") -> None:
    """Answer from the record, compile, and begin children, until somebody else is asked.

    Each prompt is *prompt*, if that is given.
    """
    accessor = accessor_of(world)
    world._cursors.setdefault(RECORDS, len(world.records) - 1)
    while True:
        world.play(accessor)
        if asked := world.open(ContextCompile, KnowledgeRequest):
            position, request = asked[0]
            given = {"prompt": prompt} if prompt and isinstance(request, ContextCompile) else {}
            world.settle(position, answer_to(request, **given))
        elif any(not each.recorded for _, each in world.open(*CALLS)):
            return  # somebody else is asked
        elif not world._begin_all() and not world.fire():
            return


def of_what_ifs(world: World, *kinds: Any) -> list[Any]:
    ids = {e.execution_id for e in world.said(ExecutionStarted) if e.variation is not None}
    return [event for event in world.said(*kinds) if event.execution_id in ids]


ANSWER = {"text": "", "calls": [{"id": "c", "tool": "write", "arguments": {"path": "a"}}]}
WRITE = ComponentAnnounced(
    component="Tools",
    kind="tool",
    name="write",
    traits={"provider": "tools", "pack": "files", "effect": "once"},
)


def played(*steps: LinkedStep, more: Sequence[Event] = ()) -> World:
    world = World(process_of(*steps))
    world.publish(*more)
    world.start()
    return world


def answer(world: World, kind: type[Event]) -> None:
    """Answer the oldest open request of the what-if."""
    found = ((at, each) for at, each in world.open(kind) if each.execution_id == "w")
    position, asked = next(found)
    world.settle(position, answer_to(asked))


def approve(world: World, said: str = "approved") -> None:
    gate_ = world.state("w").open_gate
    world.publish(ExecutionResume(execution_id="w", answer=said, gate=gate_))
    go_on(world)


def test_an_effect_on_record_is_not_had_again_and_another_one_waits_for_a_person() -> None:
    world = played(action_step("one", effect="once"), action_step("two", effect="once"))
    world.drain()
    other = process_of(
        action_step("one", effect="once"),
        action_step("two", effect="once", parameters=MapOf((("more", constant(1)),))),
    )

    what_if(world, linked=world.blobs.put(msgspec.json.encode(other)))

    assert [each.step_id for each in of_what_ifs(world, StepExecute)] == ["one"]
    state = world.state("w")
    assert (state.status, state.reason, state.step_id) == ("paused", AGREEMENT, "two")
    assert "action work" in state.question
    approve(world)
    done = of_what_ifs(world, StepExecute)[-1]
    assert (done.step_id, done.recorded, done.anew) == ("two", 0, True)
    assert world.state("w").anew


def test_a_denial_halts_it_and_nothing_is_asked_for() -> None:
    world = played(action_step("one", effect="once"))
    what_if(world)  # while nobody has answered: nothing is on record

    approve(world, "denied")

    assert of_what_ifs(world, StepExecute) == []
    assert world.state("w").status == "halted"
    assert "did not agree" in world.state("w").reason


def test_after_an_effect_of_its_own_what_reads_the_world_is_asked_of_it() -> None:
    look = action_step("look", "peek", effect="read", gates=(gate("g"),))
    count = action_step("count", "sum", effect="none")
    world = played(action_step("act", effect="once"), look, count)
    world.drain()
    more = MapOf((("more", constant(1)),))
    other = process_of(action_step("act", effect="once", parameters=more), look, count)

    what_if(world, linked=world.blobs.put(msgspec.json.encode(other)), allow=True)
    for kind in (StepExecute, GateEvaluate, StepExecute):
        answer(world, kind)
        go_on(world)

    recorded = {each.step_id: each.recorded for each in of_what_ifs(world, StepExecute)}
    assert (recorded["act"], recorded["look"]) == (0, 0)
    assert recorded["count"] > 0
    assert [each.recorded for each in of_what_ifs(world, GateEvaluate)] == [0]
    assert world.state("w").status == "completed"


def test_a_tool_with_an_effect_that_is_not_on_record_waits_for_a_person() -> None:
    world = played(action_step("ask", tools=("write",)), more=(WRITE, MODEL))
    world.answer(ContextCompile)
    world.answer(ModelInvoke, answer=ANSWER, stop="calls")

    what_if(world)  # the tool was called, and has not answered

    state = world.state("w")
    assert (state.status, state.reason) == ("paused", AGREEMENT)
    assert "tool write" in state.question
    assert of_what_ifs(world, ToolCall) == []
    approve(world)
    (call,) = of_what_ifs(world, ToolCall)
    assert (call.tool, call.recorded, call.anew) == ("write", 0, True)


def test_a_prompt_that_is_not_on_record_is_sent_once_a_person_agrees() -> None:
    world = played(action_step("ask", asks_model=True), more=(MODEL,))
    world.answer(ContextCompile)

    what_if(world)

    state = world.state("w")
    assert (state.status, state.reason) == ("paused", AGREEMENT)
    assert "price unknown" in state.question
    assert of_what_ifs(world, ModelInvoke) == []
    approve(world)
    (asked,) = of_what_ifs(world, ModelInvoke)
    assert (asked.recorded, asked.prompt) == (0, "prompt of ask/1")


def test_a_failure_after_which_a_person_went_on_gives_way_to_what_came_then() -> None:
    world = played(action_step("one"))
    position, asked = world.open(StepExecute)[0]
    world.settle(position, told(asked, "fail", 0))
    assert world.state().status == "halted"
    world.publish(ExecutionResume(execution_id="x"))
    world.drain()

    what_if(world)

    assert world.state("x").status == world.state("w").status == "completed"
    assert all(each.recorded for each in of_what_ifs(world, StepExecute))


def test_a_fork_takes_what_succeeded_and_tries_again_what_failed() -> None:
    world = played(action_step("one", "sure"), action_step("two", "shaky"))
    world.answer(StepExecute)
    position, asked = world.open(StepExecute)[0]
    world.settle(position, told(asked, "fail", 0))

    fork(world, "one", variation=Variation(through=len(world.records)))
    go_on(world)

    one, two = of_what_ifs(world, StepExecute)
    assert (one.action, one.component) == ("sure", RECORDS)
    assert one.recorded > 0
    assert (two.action, two.recorded) == ("shaky", 0)


def test_a_call_takes_the_answer_of_its_own_step_even_if_an_earlier_one_asked_the_same() -> None:
    world = played(action_step("before", "check"), action_step("after", "check"))
    world.answer(StepExecute, result={"n": 1})
    world.answer(StepExecute, result={"n": 2})

    fork(world, "after", variation=Variation(through=len(world.records)))
    go_on(world)

    assert world.state("f").results == {"before": {"n": 1}, "after": {"n": 2}}


def test_a_planned_prompt_is_sent_as_often_as_it_was_planned() -> None:
    steps = (action_step("one", asks_model=True), action_step("two", asks_model=True))
    world = played(*steps, more=(MODEL,))

    what_if(world, prompt="same", prompts=("same",))
    for kind in (ModelInvoke, StepExecute):
        answer(world, kind)
    go_on(world, "same")

    assert [each.step_id for each in of_what_ifs(world, ModelInvoke)] == ["one"]
    state = world.state("w")
    assert (state.status, state.reason, state.step_id) == ("paused", AGREEMENT, "two")
    assert state.sent == 0  # the plan had its price


def test_a_prompt_that_was_planned_for_one_item_is_not_sent_by_another() -> None:
    both = branches(action_step("left", asks_model=True), action_step("right", asks_model=True))
    world = played(*both, more=(MODEL,))

    what_if(world, prompt="same", prompts=("same",), within={"item both/1/1": ("same",)})

    assert [each.step_id for each in of_what_ifs(world, ModelInvoke)] == ["left"]
    paused = [e for e in of_what_ifs(world, ExecutionPaused) if e.reason == AGREEMENT]
    assert [each.step_id for each in paused] == ["right"]


def test_a_what_if_that_has_begun_is_compared_with_what_it_is_about() -> None:
    world = played(action_step("one", effect="once"))
    what_if(world, models={"one": "m"})

    waits = beside(world, "w")
    world.drain()
    approve(world)
    answer(world, StepExecute)
    done = beside(world, "w")

    assert (waits.plan, waits.recorded.execution, waits.changed) == (
        None,
        "x",
        ("model m for one",),
    )
    assert waits.what_if is not None
    assert (waits.what_if.status, waits.recorded.status) == ("paused", "running")
    assert done.what_if is not None
    assert (done.what_if.status, done.what_if.effects, done.differs) == ("completed", 1, ())


def test_only_a_what_if_as_a_whole_is_compared() -> None:
    both = branches(action_step("left"), action_step("right"))
    world = played(*both)
    world.drain()
    what_if(world)
    fork(world, "both", variation=Variation(through=len(world.records)))
    parts = [e.execution_id for e in of_what_ifs(world, ExecutionStarted) if e.part is not None]

    for execution_id in ("x", "f"):
        with pytest.raises(RefusedError, match=f"execution {execution_id} is no what-if"):
            beside(world, execution_id)
    with pytest.raises(RefusedError, match="is a part of what-if w: `cortex what-if w --compare`"):
        beside(world, parts[0])


def test_only_the_owner_may_ask_for_a_what_if() -> None:
    world = played(action_step("one"))
    world.drain()

    what_if(world, source="mallory")

    assert world.state("w").status == "failed"
    assert "only the owner" in world.state("w").reason


def test_the_record_answers_only_the_engine() -> None:
    world = played(action_step("one"))
    world.drain()
    (done,) = (r for r in world.records if r.topic == "step.completed")
    asked = StepExecute(execution_id="y", step_id="one", action="work", recorded=done.position)

    said = list(accessor_of(world).repeat(asked, Delivery(99, 0, RECORDS, source="mallory")))

    assert said == []


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(processes().map(straight), NOBODY)
def test_without_a_change_nobody_is_asked_and_the_outcome_is_equal(
    process: LinkedProcess, script: list[tuple[str, int]]
) -> None:
    world = play(process, script, restarts=False)
    world.drain()
    before = list(world.history("execution/x"))

    what_if(world)

    assert [each for each in of_what_ifs(world, *CALLS) if not each.recorded] == []
    then, now = world.state("x"), world.state("w")
    assert (now.status, now.outputs, now.results) == (then.status, then.outputs, then.results)
    assert (now.statuses, now.tokens, now.cost) == (then.statuses, then.tokens, then.cost)
    assert now.sent == 0
    assert list(world.history("execution/x")) == before
