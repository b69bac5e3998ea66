"""Whose answer counts: that of the component which serves what was asked for, at that moment."""

from typing import Any

import msgspec
import pytest

from cortex.bus import Event
from cortex.bus.events import (
    VOCABULARY,
    ComponentAnnounced,
    ComponentFailed,
    ComponentWithdrawn,
    ExecutionHalted,
    ExecutionIgnored,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    ModelDelta,
    ModelInvoke,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepFanned,
    StepItemChanged,
    StepProgress,
    StepProposed,
    StepReopened,
    StepSettled,
    StepSkipped,
    StepWake,
    ToolListed,
)
from cortex.runtime.executions import AskedSoFar, counted
from cortex.runtime.tools import Tools

from .execution_world import World, action_step, answer_to, gate, process_of

PLACE: dict[str, Any] = {"execution_id": "x", "step_id": "one", "attempt": 1}
STEP = process_of(action_step("one"))


def announced(component: str, kind: str = "action", name: str = "work") -> ComponentAnnounced:
    return ComponentAnnounced(component=component, kind=kind, name=name)


def asked(world: World) -> StepExecute:
    request: StepExecute = world.open(StepExecute)[-1][1]
    return request


def test_a_request_names_who_was_linked_where_nobody_announced_it() -> None:
    world = World(STEP)
    world.start()

    assert (asked(world).component, asked(world).host) == ("Worker", "")


@pytest.mark.parametrize(
    ("source", "host"), [("runtime", ""), ("owner/cli", ""), ("alice/worker-1", "alice")]
)
@pytest.mark.parametrize("restarts", [False, True])
def test_a_request_names_who_serves_it_now_and_both_it_and_its_host_may_answer(
    source: str, host: str, restarts: bool
) -> None:
    for answerer in filter(None, ("Renamed", host)):
        world = World(STEP)
        world.publish(announced("Other"), ComponentWithdrawn(
            component="Other", kind="action", name="work"
        ), announced("Renamed"), source=source)  # fmt: skip
        world.start()
        if restarts:
            world.restart()

        assert (asked(world).component, asked(world).host) == ("Renamed", host)
        world.publish(answer_to(asked(world)), source=f"{answerer}/3")
        world.play()
        assert world.state().status == "completed"


def test_what_was_announced_since_the_start_is_known_and_what_comes_later_is_not() -> None:
    world = World(process_of(action_step("one"), action_step("two")))
    world.publish(announced("First"), source="runtime")
    world.start()
    before = asked(world)
    world.publish(announced("Second"), source="runtime")
    world.publish(answer_to(before), source="First")
    world.play()

    assert (before.component, asked(world).component) == ("First", "Second")


@pytest.mark.parametrize(
    ("source", "component"), [("runtime", "Moved"), ("owner", "Moved"), ("mallory", "Gates")]
)
def test_no_client_puts_a_gate_in_the_place_of_the_one_that_was_linked(
    source: str, component: str
) -> None:
    world = World(process_of(action_step("one", gates=(gate("g"),))))
    world.publish(announced("Moved", "gate", "g"), source=source)
    world.start()

    ((_, request),) = world.open(GateEvaluate)
    assert request.component == component


def test_a_request_of_an_older_log_is_answered_by_anybody() -> None:
    world = World(STEP)
    world.start()
    (position, request), = world.open(StepExecute)  # fmt: skip
    older = msgspec.structs.replace(request, component="")
    record = world.records[position - 1]
    world.records[position - 1] = record.__class__(
        **{**msgspec.structs.asdict(record), "body": msgspec.msgpack.encode(older)}
    )
    world.restart()

    world.publish(answer_to(request), source="whoever")
    world.play()

    assert world.state().status == "completed"


def test_an_answer_by_another_is_recorded_once_and_again_by_nobody_who_restarts() -> None:
    world = World(STEP)
    world.start()
    for restarts in (False, False, True):
        world.publish(StepCompleted(**PLACE, result={"by": "mallory"}), source="mallory/7")
        if restarts:
            world.restart()
        world.play()
    world.publish(StepFailed(**PLACE, error="no"), source="bob")
    world.play()
    late = StepFailed(**{**PLACE, "attempt": 9}, error="no")  # it is no answer to what was asked
    world.publish(late, source="mallory")
    world.play()

    assert world.state().status == "running"
    assert [(e.by, e.answer, e.asked) for e in world.said(ExecutionIgnored)] == [
        ("mallory", "step.completed", "Worker"),
        ("bob", "step.failed", "Worker"),
    ]


@pytest.mark.parametrize(
    ("component", "source", "status"),
    [
        ("Worker", "mallory", "running"),
        ("Watcher", "Watcher", "running"),  # it sees the step, and was not asked
        ("Worker", "Worker", "halted"),
        ("ProcessExecutionEngine", "mallory", "running"),
    ],
)
def test_a_request_is_given_up_by_who_was_asked_alone(
    component: str, source: str, status: str
) -> None:
    world = World(STEP)
    world.start()
    ((position, _),) = world.open(StepExecute)
    failed = ComponentFailed(component=component, reason="r", position=position, about="a")
    record = world.records[position - 1]

    world.publish(failed, source=source)
    world.records[-1] = record.__class__(
        **{**msgspec.structs.asdict(world.records[-1]), "correlation": "x"}
    )
    world.play()

    assert world.state().status == status


def test_a_deadline_is_the_engines_own() -> None:
    world = World(process_of(action_step("one", timeout_s=5.0)))
    world.start()
    wake = StepWake(**PLACE, what="timeout")

    world.publish(wake, source="mallory")
    world.play()
    before = world.state().status
    world.publish(wake, source="ProcessExecutionEngine")
    world.play()

    assert (before, world.state().status) == ("running", "halted")
    assert "ran out of time" in world.said(ExecutionHalted)[0].reason


def test_whoever_reads_a_stream_reads_answers_of_those_who_were_asked_alone() -> None:
    world = World(process_of(action_step("one", gates=(gate("g"),))))
    world.start()
    passed = GateEvaluated(execution_id="x", step_id="one", gate="g", outcome="passed")
    forged = StepCompleted(**PLACE, result={"by": "mallory"})
    world.publish(passed, forged, source="mallory")
    world.play()
    world.publish(passed)
    world.play()
    # Neither what mallory asks, nor an answer to that, is of this execution.
    request = StepExecute(**PLACE, action="work", component="mallory")
    world.publish(request, forged, source="mallory")
    world.answer(StepExecute)

    kinds = (GateEvaluated, StepCompleted, StepExecute)
    read = counted(world.history("execution/x"), VOCABULARY, kinds)

    assert [record.source for record, _ in read] == ["Gates", "ProcessExecutionEngine", "Worker"]


@pytest.mark.parametrize(
    "forged",
    [
        StepFanned(**PLACE, items=1, at_once=1),
        StepItemChanged(**PLACE, item=1, status="completed"),
        StepDelegated(**PLACE, child="y"),
        StepProposed(execution_id="x", step_id="one.1", goal="one", action="work"),
        StepReopened(execution_id="x", step_id="one", dropped=("one",)),
        StepSettled(execution_id="x", step_id="one", outcome="skipped", by="owner"),
        StepSkipped(execution_id="x", step_id="one", reason="so"),
    ],
    ids=lambda event: event.topic_name(),
)
@pytest.mark.parametrize("started", [False, True])  # False: followed from somewhere in its middle
def test_what_the_engine_alone_says_is_read_from_nobody_else(forged: Event, started: bool) -> None:
    asked_so_far = AskedSoFar()
    if started:
        world = World(STEP)
        world.start()
        (begun,) = world.said(ExecutionStarted)
        asked_so_far.counts(begun, "ProcessManager")

    assert not asked_so_far.counts(forged, "mallory")
    assert not asked_so_far.counts(forged, "owner/cli")
    assert asked_so_far.counts(forged, "ProcessExecutionEngine")


@pytest.mark.parametrize(
    ("source", "component", "served"),
    [
        ("runtime", "McpTools", ("McpTools", "")),
        ("runtime", "", ("", "")),  # of an older log
        ("alice/mcp", "", ("alice", "alice")),
        ("alice", "Keeper", ("Keeper", "alice")),
    ],
)
def test_a_tool_of_a_server_is_answered_by_whoever_lists_it(
    source: str, component: str, served: tuple[str, str]
) -> None:
    tools = Tools()

    tools.fold(ToolListed(server="far", component=component, tools=({"name": "look"},)), source)

    (spec,) = tools.specs()
    assert (spec.name, spec.component, spec.host) == ("far.look", *served)


def test_how_far_a_step_has_come_is_shown_from_whoever_carries_it_out() -> None:
    started = ExecutionStarted(
        execution_id="x", process="p", process_version=1, digest="", linked="", inputs={}, goal="",
        workspace="", trigger="",
    )  # fmt: skip
    asked = StepExecute(
        execution_id="x", step_id="s", action="a", attempt=2, component="Worker", host="ada"
    )
    said = StepProgress(execution_id="x", step_id="s", note="half")
    asked_so_far = AskedSoFar()
    asked_so_far.counts(started, "ProcessManager")
    before = asked_so_far.counts(said, "Worker")

    asked_so_far.counts(asked, "ProcessExecutionEngine")

    assert not before  # nobody was asked yet
    assert asked_so_far.counts(said, "Worker")
    assert asked_so_far.counts(said, "ada/worker")
    assert not asked_so_far.counts(said, "mallory")


def test_what_a_model_says_is_shown_from_whoever_was_asked_as_it_comes() -> None:
    started = ExecutionStarted(
        execution_id="x", process="p", process_version=1, digest="", linked="", inputs={}, goal="",
        workspace="", trigger="",
    )  # fmt: skip
    invoked = ModelInvoke(**PLACE, model="m", prompt="p", component="Robot")
    piece = ModelDelta(**PLACE, model="m", text="so")
    asked_so_far = AskedSoFar()
    before = asked_so_far.counts(piece, "whoever")  # of one that began before it is followed

    asked_so_far.counts(started, "ProcessManager")
    asked_so_far.counts(invoked, "ProcessExecutionEngine")

    assert (before, asked_so_far.counts(piece, "Robot")) == (True, True)
    assert not asked_so_far.counts(piece, "mallory")
