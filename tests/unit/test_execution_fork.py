"""A fork takes the outcomes before its step from the record, and runs the rest."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortex.actors.managers import ProcessManager
from cortex.bus import OWNER
from cortex.bus.events import (
    ComponentAnnounced,
    ExecutionFailed,
    ExecutionRequest,
    ExecutionStarted,
    GateEvaluate,
    StepDelegated,
    StepExecute,
    StepInherited,
    Variation,
)
from cortex.runtime.executions import not_to_fork, steps_before
from cortex.runtime.kernel import Config
from cortex.runtime.processes import LinkedProcess, acts

from .execution_fan_world import branches
from .execution_world import World, action_step, constant, process_of
from .test_execution_recovery import SCRIPT, play, processes

ASKS = ComponentAnnounced(component="Gates", kind="gate", name="approved")


def fork(world: World, from_step: str, of: str = "x", **fields: Any) -> None:
    """Fork *of* as `f`, and let the process manager and the engine handle it."""
    began = world.state(of).begun()
    world.publish(ASKS, source=OWNER)
    request = {"process": began.process, "workspace": began.workspace, **fields}
    world.publish(ExecutionRequest(execution_id="f", fork_of=of, from_step=from_step, **request))
    manager = manager_of(world)
    while world.pump(manager) or world.pump():
        pass


def manager_of(world: World) -> ProcessManager:
    """A process manager that has handled all but the last event."""
    manager, position = ProcessManager(world.blobs, Config(), world.history), len(world.records)
    world.recall(manager, 0, position - 1)
    world._cursors[manager.component_name()] = position - 1
    return manager


def of_fork(world: World, *kinds: Any) -> list[Any]:
    return [event for event in world.said(*kinds) if event.execution_id == "f"]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(processes(), SCRIPT, st.integers(0, 9))
def test_whatever_happened_a_fork_runs_nothing_before_its_step_and_changes_nothing(
    process: LinkedProcess, script: list[tuple[str, int]], n: int
) -> None:
    world = play(process, script, restarts=False)
    world.drain()
    state = world.state()
    steps = [s.id for s in process.steps if not not_to_fork(state, process, s.id)]
    if not steps:
        return
    step, before = steps[n % len(steps)], list(world.history("execution/x"))

    fork(world, step)
    world.drain()

    taken = [each for each in steps_before(process, step) if each in state.statuses]
    inherited = of_fork(world, StepInherited)
    assert [each.step_id for each in inherited] == taken
    assert [each.status for each in inherited] == [state.statuses[each] for each in taken]
    assert all(each.result == state.results.get(each.step_id, {}) for each in inherited)
    asked = of_fork(world, StepExecute, StepDelegated)
    assert not {each.step_id for each in asked} & set(taken)
    assert list(world.history("execution/x")) == before
    assert world.state("f").begun().inputs == state.begun().inputs
    world.restart()
    assert world.engine._load("f", len(world.records) + 1) == world.state("f")


THREE = process_of(
    action_step("one", effect="once"),
    action_step("two", effect="read"),
    action_step("three", effect="once"),
)


def played(process: LinkedProcess) -> World:
    world = World(process)
    world.start()
    world.drain()
    return world


def test_results_are_facts_of_the_fork_with_their_origin() -> None:
    world = played(THREE)
    (done, *_) = (r for r in world.records if r.topic == "step.completed")

    fork(world, "two")

    (inherited,) = of_fork(world, StepInherited)
    assert (inherited.fork_of, inherited.position) == ("x", done.position)
    started = world.state("f").begun()
    assert (started.fork_of, started.from_step) == ("x", "two")
    assert started.linked == world.state().begun().linked
    record = next(r for r in world.records if r.topic == "step.inherited")
    cause = world.records[(record.causation or 0) - 1]
    assert (cause.topic, cause.correlation) == ("execution.request", "f")
    assert world.state("f").results == {"one": world.state().results["one"]}


def test_an_effect_that_is_not_on_record_waits_for_a_person_and_a_read_does_not() -> None:
    world = played(THREE)
    fork(world, "two")
    assert [each.step_id for each in of_fork(world, StepExecute)] == ["two"]

    world.answer(StepExecute)

    assert [each.step_id for each in of_fork(world, StepExecute)] == ["two"]
    (gate,) = of_fork(world, GateEvaluate)
    assert (gate.gate, gate.step_id) == ("approved", "three")
    assert "three may have an effect outside" in gate.parameters["question"]
    world.answer(GateEvaluate, outcome="waiting")
    assert world.state("f").status == "paused"
    assert world.state("f").reason == "approval"


def test_items_of_a_fork_ask_too() -> None:
    work = branches(action_step("left", effect="once"), action_step("right", effect="none"))
    world = played(process_of(action_step("first"), *work))
    before = len(world.said(StepExecute))

    fork(world, "both")

    items = {e.execution_id for e in world.said(ExecutionStarted) if e.fork_of and e.part}
    assert len(items) == 2
    gates = [e for e in world.said(GateEvaluate) if e.execution_id in items]
    assert [each.step_id for each in gates] == ["left"]
    assert [e.step_id for e in world.said(StepExecute)[before:]] == ["right"]


def test_a_fork_can_be_forked() -> None:
    world = played(THREE)
    fork(world, "two")
    world.drain()
    state = world.state("f")
    assert state.status == "completed"

    world.publish(ExecutionRequest(execution_id="g", process="p", fork_of="f", from_step="three"))
    world.pump(manager_of(world))
    world.play()

    (taken, also) = (e for e in world.said(StepInherited) if e.execution_id == "g")
    assert (taken.step_id, also.step_id, taken.fork_of) == ("one", "two", "f")


def test_a_client_cannot_forge_an_outcome() -> None:
    world = World(THREE)
    world.begin_requests = False
    world.publish(ExecutionRequest(execution_id="f", process="p"))
    forged: dict[str, Any] = {
        "step_id": "one",
        "status": "completed",
        "fork_of": "x",
        "position": 1,
    }
    world.publish(StepInherited(execution_id="f", **forged), source="mallory")
    world.play()

    assert world.state("f").statuses == {}


def test_what_cannot_be_forked_fails_with_a_reason() -> None:
    world = World(THREE)
    world.start()
    for step, fields, said in (
        ("four", {}, "has no step 'four'"),
        ("three", {}, "step one comes before three and has no outcome on record"),
        ("one", {"process": "other"}, "ran p, not 'other'"),
        ("one", {"workspace": "/elsewhere"}, "a fork works there, too"),
    ):
        fork(world, step, **fields)
        failed = of_fork(world, ExecutionFailed)[-1]
        assert said in failed.reason
        world.records = [r for r in world.records if r.correlation != "f"]
        world.restart()


def test_what_is_recorded_after_the_request_is_no_outcome_of_a_fork() -> None:
    world = World(THREE)
    world.start()
    world.answer(StepExecute)
    request = ExecutionRequest(
        execution_id="f",
        fork_of="x",
        from_step="three",
        process="p",
        workspace=world.state().begun().workspace,
        variation=Variation(through=1 << 40, position=1 << 40),
    )
    world.publish(request)
    manager = manager_of(world)
    world.answer(StepExecute)  # before the manager handles the request
    while world.pump(manager) or world.pump():
        pass

    (failed,) = of_fork(world, ExecutionFailed)
    assert "step two comes before three and has no outcome on record" in failed.reason


def test_what_acts_is_known() -> None:
    assert [acts(step) for step in THREE.steps] == [True, False, True]
    assert acts(action_step("a", tools=("read",)))
    assert not acts(action_step("a", asks_model=True, when=constant(True)))
