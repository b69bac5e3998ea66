"""The recorded facts of an execution, run through its process again, and through another one."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cortex.bus import Recorded
from cortex.bus.events import VOCABULARY, ExecutionResume, GateEvaluate, StepExecute
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home, RefusedError
from cortex.runtime.processes import Field, LinkedProcess, Retry
from cortex.runtime.projections import Selection
from cortex.runtime.replay import Replayed, replay_process

from .execution_fan_world import branches, each_of
from .execution_world import World, action_step, child_step, gate, process_of
from .test_execution_recovery import SCRIPT, play, processes, told


class HistoryOf(History):
    """The log of a `World`."""

    def __init__(self, world: World) -> None:
        super().__init__(Home.find(), None, world.blobs, VOCABULARY)
        self._records = world.records

    def read(self, after: int = 0) -> Iterator[Recorded]:
        yield from self._records[after:]

    def stream(self, name: str) -> list[Recorded]:
        return [record for record in self._records if record.stream == name]

    def select(self, selection: Selection, after: int = 0) -> Iterator[Recorded]:
        return filter(selection.fits, self.read(after))

    def at(self, position: int) -> Recorded | None:
        return self._records[position - 1] if 0 < position <= len(self._records) else None


def replayed(world: World, process: LinkedProcess, execution_id: str = "x") -> Replayed:
    before = len(world.records)
    found = replay_process(HistoryOf(world), execution_id, Config(), process)
    assert len(world.records) == before
    return found


def same(found: Replayed) -> bool:
    return found.divergence is None and not found.unanswered and not found.no_longer


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(processes(), SCRIPT, st.booleans())
def test_with_its_own_process_every_decision_is_the_same(
    process: LinkedProcess, script: list[tuple[str, int]], to_the_end: bool
) -> None:
    # A forged answer changes nothing, and may only be what shows a child that its parent is gone.
    world = play(process, [each for each in script if each[0] != "forge"], restarts=False)
    if to_the_end:
        world.drain()

    for execution_id in "xyz":
        if world.state(execution_id).started is not None:
            found = replayed(world, process, execution_id)
            assert same(found), found
            assert found.pending or found.ended == world.state(execution_id).status


def played(process: LinkedProcess, **inputs: Any) -> World:
    """A world in which an execution of *process* came to its end."""
    world = World(process)
    world.start(inputs=inputs)
    world.drain()
    return world


THREE = process_of(action_step("one"), action_step("two"), action_step("three"))


def test_a_step_that_asks_for_something_else_is_the_first_difference() -> None:
    world = played(THREE)
    other = process_of(action_step("one"), action_step("two", "walk"), action_step("three"))

    found = replayed(world, other)

    assert found.divergence is not None
    assert [change.field for change in found.divergence.changes] == ["action"]
    assert [(each.step, each.name, each.why) for each in found.unanswered] == [
        ("two", "walk", "never asked")
    ]
    assert (found.ended, found.ended_then) == ("unanswered", "completed")
    asked = [r.position for r in world.records if r.topic == "step.completed"]
    assert found.divergence.causes[0].position == asked[0]


def test_a_question_that_changed_takes_the_recorded_answer_and_is_reported() -> None:
    world = played(THREE)
    steps = [
        replace(step, description="better") if step.id != "one" else step for step in THREE.steps
    ]

    found = replayed(world, process_of(*steps))

    assert [(each.step, each.why) for each in found.unanswered] == [
        ("two", "asked otherwise"), ("three", "asked otherwise"),
    ]  # fmt: skip
    assert found.ended == "completed"
    assert found.answered == {"step": 3}


def test_a_step_that_is_gone_is_reported_and_the_rest_takes_its_answers() -> None:
    world = played(THREE)

    found = replayed(world, process_of(THREE.steps[0], THREE.steps[2]))

    assert found.no_longer == ("two",)
    assert not found.unanswered
    assert found.divergence is not None
    assert found.divergence.recorded is not None
    assert found.divergence.replayed is not None
    assert found.divergence.recorded.body["step_id"] == "two"
    assert found.divergence.replayed.body["step_id"] == "three"
    assert found.ended == "completed"


def test_steps_in_another_order_take_their_own_answers() -> None:
    world = played(THREE)

    found = replayed(world, process_of(*reversed(THREE.steps)))

    assert not found.unanswered
    assert found.divergence is not None
    assert found.ended == "completed"


def test_another_prompt_has_no_answer_of_its_model() -> None:
    world = played(process_of(action_step("ask", asks_model=True)))
    other = process_of(action_step("ask", asks_model=True, instructions="Be brief."))

    found = replayed(world, other)

    assert found.divergence is not None
    assert [change.field for change in found.divergence.changes] == ["instructions"]
    assert [(each.topic, each.why) for each in found.unanswered] == [
        ("model.invoke", "asked otherwise")
    ]


def test_a_gate_that_was_removed_or_added_is_found() -> None:
    with_gate = process_of(action_step("one", gates=(gate("g"), gate("h"))), action_step("two"))
    without = process_of(action_step("one", gates=(gate("h"),)), action_step("two"))

    fewer, more = replayed(played(with_gate), without), replayed(played(without), with_gate)

    assert not fewer.unanswered
    assert fewer.divergence is not None
    assert fewer.ended == "completed"
    assert [(each.topic, each.name) for each in more.unanswered] == [("gate.evaluate", "g")]


def test_more_attempts_ask_what_nobody_answered() -> None:
    once = process_of(action_step("one"))
    world = World(once)
    world.start()
    position, request = world.open(StepExecute)[0]
    world.settle(position, told(request, "fail", 0))
    assert world.state().status == "halted"

    found = replayed(world, process_of(action_step("one", retry=Retry(attempts=2, backoff_s=60))))

    assert [(each.step, each.attempt, each.why) for each in found.unanswered] == [
        ("one", 2, "never asked")
    ]


def test_items_and_branches_are_replayed_with_the_process() -> None:
    listed = Field(name="list", type="list", required=True)
    steps = (each_of(), *branches(action_step("left"), action_step("right")))
    fans = process_of(*steps, inputs=(listed,))
    world = played(fans, list=[1, 2, 3])
    other = process_of(each_of(description="x"), *steps[1:], inputs=(listed,))

    assert same(replayed(world, fans))
    found = replayed(world, other)

    assert {each.why for each in found.unanswered} == {"asked otherwise"}
    assert len(found.unanswered) == 3
    assert found.ended == "completed"


def test_another_child_process_was_never_asked() -> None:
    inner, middle = process_of(action_step("a"), name="inner"), process_of(child_step("c", "inner"))
    world = World(middle, inner)
    world.start()
    world.drain()

    assert same(replayed(world, middle))
    found = replayed(world, process_of(child_step("c", "inner"), child_step("d", "inner")))

    assert [(each.topic, each.step) for each in found.unanswered] == [("execution.request", "d")]


def test_inputs_that_do_not_fit_are_what_would_have_happened() -> None:
    world = played(THREE)
    field = Field(name="who", type="string", required=True)

    found = replayed(world, process_of(*THREE.steps, inputs=(field,)))

    assert found.divergence is not None
    assert found.divergence.decider == "ProcessManager"
    assert found.divergence.replayed is not None
    assert "who is missing" in found.divergence.replayed.body["reason"]


def test_an_approval_of_a_gate_does_not_answer_another_one() -> None:
    asks = process_of(action_step("one", gates=(gate("g"),)))
    world = World(asks)
    world.start()
    world.answer(GateEvaluate, outcome="waiting")
    world.publish(ExecutionResume(execution_id="x", gate="p/g", answer="approved"))
    world.play()
    world.drain()
    assert same(replayed(world, asks))

    found = replayed(world, process_of(action_step("one", gates=(gate("h"),))))

    assert [each.name for each in found.unanswered] == ["h"]


def test_an_execution_without_a_process_is_refused() -> None:
    world = World()
    world.start("", "x")

    with pytest.raises(RefusedError, match="ran no process"):
        replayed(world, THREE)
