"""A runtime that stops anywhere and starts again writes the log it would have written."""

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortex.actors.engines import ProcessExecutionEngine
from cortex.bus import Event
from cortex.bus.events import (
    VOCABULARY,
    ComponentAnnounced,
    ContextCompile,
    ContextCompiled,
    ExecutionCancel,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPause,
    ExecutionRequest,
    ExecutionResume,
    GateEvaluate,
    KnowledgeRequest,
    ModelFailed,
    ModelInvoke,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepSkipped,
    ToolCall,
    ToolFailed,
)
from cortex.runtime.executions import DECIDER, ENGINE, fold
from cortex.runtime.processes import (
    BackTo,
    Budget,
    Continue,
    Find,
    GoTo,
    Halt,
    LinkedChild,
    LinkedFan,
    LinkedProcess,
    LinkedStep,
    MapOf,
    OnFailure,
    Retry,
    RunProcess,
)

from .execution_world import (
    ASKED,
    World,
    action_step,
    answer_to,
    child_step,
    constant,
    gate,
    process_of,
    question_of,
    tool,
)

WHY = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}
FIND = Find(texts=(constant("what about it"),))
MODEL = ComponentAnnounced(component="Models", kind="model", name="extractive")
SERVED = (tool("read"), tool("search", "finding"), MODEL)
AGENT: dict[str, Any] = {"tools": ("read", "finding"), "budget": Budget(turns=3), "answer": WHY}
INNER = process_of(
    action_step("a"), action_step("b", asks_model=True, gates=(gate("g"),)), name="inner"
)
SCRIPT = st.lists(
    st.tuples(
        st.sampled_from(
            ["answer"] * 8 + ["play"] * 10 + ["calls"] * 6 + ["fail"] * 4 + ["pump", "begin"] * 2
            + ["wrong", "resume", "fire"] * 2 + ["twice", "pause", "cancel", "restart", "park"]
            + ["forge"] * 4
        ),
        st.integers(0, 9),
    ),
    min_size=25,  # shorter ones hardly come to a model's second turn
    max_size=80,
)  # fmt: skip


@st.composite
def steps(draw: st.DrawFn, step_id: str, first: str, last: str) -> LinkedStep:
    on_failure: OnFailure = draw(
        st.sampled_from(
            [
                Halt(),
                Continue(),
                GoTo(last) if step_id != last else Halt(),
                BackTo(first, 2) if step_id != first else Halt(),
                RunProcess(LinkedChild(process="inner", digest="d"), MapOf(())),
            ]
        )
    )
    more = {
        "on_failure": on_failure,
        "retry": Retry(attempts=draw(st.integers(1, 3)), backoff_s=draw(st.sampled_from([0, 1]))),
        "timeout_s": draw(st.sampled_from([None, 5.0])),
        "breakpoint": draw(st.booleans()),
        "when": draw(st.sampled_from([None, None, constant(False)])),
        "gates": draw(st.sampled_from([(), (gate("g"),), (gate("g"), gate("h"))])),
    }
    if draw(st.integers(0, 3)) == 0:
        more["fan"] = LinkedFan(
            over=constant(list(range(draw(st.integers(0, 5))))),
            at_once=draw(st.integers(1, 3)),
            failures=draw(st.sampled_from(["halt", "collect"])),
        )
    if draw(st.integers(0, 3)) == 0:
        return child_step(step_id, "inner", **more)
    asks: dict[str, Any] = draw(
        st.sampled_from([{}, {"asks_model": True}, {"answer": WHY}, AGENT, AGENT])
    )
    find: dict[str, Any] = draw(st.sampled_from([{}, {"find": FIND}])) if asks else {}
    return action_step(step_id, **asks, **find, **more)


@st.composite
def agents(draw: st.DrawFn) -> LinkedProcess:
    """Little but models and tools, so that scripts come far in them."""
    names = ["s0", "s1"][: draw(st.integers(1, 2))]
    retry = Retry(attempts=draw(st.integers(1, 2)), backoff_s=0)
    back = draw(st.sampled_from([Halt(), BackTo("s0", 2)]))
    first, *rest = [action_step(name, **AGENT, retry=retry) for name in names]
    return process_of(first, *[msgspec.structs.replace(step, on_failure=back) for step in rest])


@st.composite
def mixed(draw: st.DrawFn) -> LinkedProcess:
    names = [f"s{n}" for n in range(draw(st.integers(1, 4)))]
    gates = draw(st.sampled_from([(), (gate("g"),)]))
    made = [draw(steps(name, names[0], names[-1])) for name in names]
    if draw(st.integers(0, 3)) == 0:
        made += draw(parallels())
    return process_of(*made, gates=gates)


@st.composite
def parallels(draw: st.DrawFn) -> list[LinkedStep]:
    """A step with branches, each of which may fail, be skipped, or go over a list."""
    names = [f"b{n}" for n in range(draw(st.integers(1, 3)))]
    fan = LinkedFan(
        at_once=draw(st.integers(1, 3)),
        failures=draw(st.sampled_from(["halt", "collect"])),
        branches=tuple(names),
    )
    made = [msgspec.structs.replace(action_step("all", fan=fan), action=None)]
    for name in names:
        step = draw(steps(name, name, name))
        made.append(msgspec.structs.replace(step, within="all", on_failure=Halt()))
    return made


def play(process: LinkedProcess, script: list[tuple[str, int]], *, restarts: bool) -> World:
    """Let *script* happen to three executions; with *restarts*, the engine forgets at times."""
    world = World(process, INNER)
    world.publish(*SERVED)
    ids = ["x", "y", "z"]
    world.publish(*[ExecutionRequest(execution_id=each, process="p") for each in ids])
    for what, n in script:
        if what == "restart":
            if restarts:
                world.restart()
        elif what == "pump":
            world.pump(limit=n + 1)
        elif what == "play":
            for _ in range(3):
                world.begin_one(0)
            world.play()
        elif what == "fire":
            world.fire()
        elif what == "park":
            world.park_one(n)
        elif what == "begin":
            world.begin_one(n)
        elif what in ("pause", "resume", "cancel"):
            kinds = {"pause": ExecutionPause, "resume": ExecutionResume, "cancel": ExecutionCancel}
            items = [each.child for each in world.said(StepDelegated) if each.item]
            about = items[n % len(items)] if items and n > 5 else ids[n % 3]
            world.publish(kinds[what](execution_id=about))
        else:
            answer_one(world, what, n)
    return world


def answer_one(world: World, how: str, n: int) -> None:
    asked = world.open(*ASKED)
    if not asked:
        return
    position, request = asked[n % len(asked)]
    world.publish(told(request, how, n), source="mallory" if how == "forge" else "")
    if how not in ("twice", "forge"):  # so that it is answered again later
        world.forget_request(position)


def told(request: Any, how: str, n: int) -> Event:
    """What somebody says to *request*; where *how* does not fit, all is well."""
    place = {
        "execution_id": request.execution_id,
        "step_id": request.step_id,
        "attempt": request.attempt,
    }
    match request:
        case StepExecute() if how == "fail":
            return StepFailed(**place, error="it broke")
        case KnowledgeRequest() if how == "fail":
            return answer_to(request, found="", problem="the disk is full")
        case ModelInvoke() if how == "fail":
            kind = ("overloaded", "rate_limited", "cut_off", "garbage", "timeout")[n % 5]
            turn, call = request.turn, request.call
            return ModelFailed(**place, turn=turn, call=call, model="m", error="no", kind=kind)
        case ModelInvoke() if how == "calls":
            names = ("read", "search", "nothing", "enable_pack")[: n % 4 + 1]
            calls = [{"id": f"c{n % 2}", "tool": name, "arguments": {}} for name in names]
            return answer_to(request, answer={"text": "", "calls": calls}, stop="calls")
        case ModelInvoke() if how == "wrong":
            return answer_to(request, answer={"text": "", "data": {"why": n}})
        case ToolCall() if how == "fail":
            return ToolFailed(
                **place, turn=request.turn, call_id=request.call_id, tool=request.tool, error="no"
            )
    return answer_to(request)


def processes() -> st.SearchStrategy[LinkedProcess]:
    return mixed() | agents()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(processes(), SCRIPT)
def test_stopping_anywhere_and_starting_again_changes_no_event(
    process: LinkedProcess, script: list[tuple[str, int]]
) -> None:
    straight = play(process, script, restarts=False)
    restarted = play(process, script, restarts=True)
    straight.drain()
    restarted.restart()
    restarted.drain()

    assert restarted.records == straight.records


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(processes(), SCRIPT)
def test_no_recorded_step_runs_twice_and_no_model_is_asked_without_its_context(
    process: LinkedProcess, script: list[tuple[str, int]]
) -> None:
    world = play(process, script, restarts=True)
    world.drain()

    asked = Counter(question_of(e) for e in world.said(*ASKED))
    assert set(asked.values()) <= {1}
    compiled = {(e.execution_id, e.step_id, e.prompt) for e in world.said(ContextCompiled)}
    invoked = {(e.execution_id, e.step_id, e.prompt) for e in world.said(ModelInvoke)}
    assert invoked <= compiled


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(processes(), SCRIPT)
def test_every_execution_comes_to_an_end_or_waits_for_a_person(
    process: LinkedProcess, script: list[tuple[str, int]]
) -> None:
    world = play(process, script, restarts=False)

    world.drain()

    for execution_id in ("x", "y", "z"):
        assert world.state(execution_id).status not in ("unknown", "requested", "running")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(processes(), SCRIPT)
def test_the_state_in_memory_is_the_fold_of_the_stream(
    process: LinkedProcess, script: list[tuple[str, int]]
) -> None:
    world = play(process, script, restarts=False)
    world.drain()

    for execution_id, state in world.engine._executions.items():
        assert world.state(execution_id) == state


def test_the_page_that_was_not_committed_is_handled_anew() -> None:
    world = World(process_of(action_step("one"), action_step("two")))
    world.start()
    before = list(world.records)
    world.publish(world.answers()[0])

    world.pump_without_commit()
    world.play()

    assert [asked.step_id for asked in world.said(StepExecute)] == ["one", "two"]
    assert world.records[: len(before)] == before


def test_more_executions_than_are_kept_in_memory_all_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ProcessExecutionEngine, "executions_kept", 3)
    world = World(process_of(action_step("one"), action_step("two")))
    ids = [f"e{n}" for n in range(9)]

    for each in ids:
        world.start(execution_id=each)
    world.answer_all()

    assert {world.state(each).status for each in ids} == {"completed"}
    assert len(world.engine._executions) == 3


def test_the_fold_knows_the_engine_by_its_name_on_disk() -> None:
    assert ProcessExecutionEngine.component_name() == ENGINE


def test_what_others_say_in_the_engines_words_is_not_believed() -> None:
    world = World(process_of(action_step("one"), action_step("two")))
    world.start()
    before = world.state()

    world.publish(
        StepExecute(execution_id="x", step_id="two", action="work"),
        StepSkipped(execution_id="x", step_id="one", reason="because I say so"),
        ExecutionCompleted(execution_id="x", outputs={"forged": True}),
    )
    world.play()
    world.restart()
    world.answer(StepExecute)

    assert before.stage == "handler"
    assert world.state().statuses == {"one": "completed"}
    assert world.state().step_id == "two"


def test_an_answer_to_an_earlier_attempt_does_not_settle_a_later_one() -> None:
    step = action_step("one", retry=Retry(attempts=2, backoff_s=0))
    world = World(process_of(step))
    world.start()
    failed = StepFailed(execution_id="x", step_id="one", error="it broke")
    world.publish(failed, StepCompleted(execution_id="x", step_id="one", result={"late": True}))

    world.play()

    assert world.state().attempt == 2
    assert world.state().stage == "handler"
    assert world.state().results == {}


def test_a_second_request_under_the_same_id_does_not_end_the_first() -> None:
    world = World(process_of(action_step("one")))
    world.start()

    world.publish(
        ExecutionRequest(execution_id="x", process="p", inputs={"wrong": 1}),
        ExecutionFailed(execution_id="x", reason="its inputs are wrong"),
        source="ProcessManager",
    )
    world.play()

    assert world.state().status == "running"


def test_only_the_handler_that_was_asked_can_fail_a_step() -> None:
    world = World(process_of(action_step("one", asks_model=True)))
    world.start()

    world.publish(StepFailed(execution_id="x", step_id="one", error="not yours"))
    world.play()

    assert world.state().stage == "context"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (GateEvaluate, "halted"),
        (ContextCompile, "running"),
        (ModelInvoke, "running"),
        (StepExecute, "running"),
    ],
)
def test_an_execution_goes_on_when_a_component_gives_a_request_up(
    kind: type[Event], status: str
) -> None:
    step = action_step("one", asks_model=True, gates=(gate("g"),), retry=Retry(attempts=2))
    world = World(process_of(step))
    world.start()
    while not world.open(kind):
        world.answer()

    world.park(world.open(kind)[0][0])
    world.play()

    assert world.state().status == status
    if status == "halted":
        assert world.said(ExecutionHalted)[0].reason.startswith("Gates could not handle gate.")
        world.publish(ExecutionResume(execution_id="x"))
        world.play()
    world.drain()
    assert world.state().status == "completed"


def test_an_execution_whose_event_the_engine_gives_up_fails() -> None:
    world = World(process_of(action_step("one")))
    world.start()

    world.park(2, world.engine.component_name())
    world.play()

    assert world.said(ExecutionFailed)[0].reason.startswith("ProcessExecutionEngine could not")


def test_where_the_engine_fails_on_what_another_version_began_the_reason_says_so() -> None:
    world = World(process_of(action_step("one")))
    world.decider = DECIDER + 1
    world.start()

    world.park(2, world.engine.component_name())
    world.play()

    other = f"(decider version {DECIDER + 1} began it, this is {DECIDER})"
    assert world.said(ExecutionFailed)[0].reason.endswith(other)


def test_an_execution_of_a_version_that_recorded_no_decider_goes_on() -> None:
    world = World(process_of(action_step("one")))
    world.decider = 0
    world.start()

    world.drain()

    assert world.state().status == "completed"
    assert world.state().decider == 0


def test_what_is_no_longer_asked_is_not_taken_back() -> None:
    world = World(process_of(action_step("one"), action_step("two")))
    world.start()
    position = world.open(StepExecute)[0][0]
    world.answer()

    world.park(position, "Worker")
    world.play()

    assert world.state().step_id == "two"
    assert world.said(StepFailed) == []


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(processes(), SCRIPT)
def test_what_others_say_than_who_was_asked_is_in_no_state(
    process: LinkedProcess, script: list[tuple[str, int]]
) -> None:
    world = play(process, script, restarts=True)
    world.drain()
    ids = {record.stream for record in world.records if record.stream.startswith("execution/")}

    for stream in ids:
        execution_id = stream.removeprefix("execution/")
        honest = (record for record in world.history(stream) if record.source != "mallory")
        assert fold(execution_id, honest, VOCABULARY) == world.state(execution_id)
