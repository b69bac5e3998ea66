"""What plugins test with: components as functions, and a runtime whose clock the test moves."""

from collections.abc import Iterator
from typing import Any

import pytest

from cortex.bus import Event
from cortex.bus.events import ExecutionPaused, StepCompleted, StepExecute
from cortex.runtime.functions import Step, Verdict, action, gate, on
from cortex.runtime.kernel import Component, Delivery, Later, Output
from cortex.runtime.testing import Stated, VirtualClock, ask_gate, run_action, runtime, step

HOUR_NS = 3_600_000_000_000


class Unanswered(Event, frozen=True, kw_only=True, tag="x.house.unanswered"):
    belongs = ("house", "")

    execution_id: str


@action("add", effect="none")
def add(left: int, right: int = 1) -> int:
    """Add."""
    return left + right


@gate("attempted")
def attempted(step: Step) -> Verdict:
    return Verdict.passed(attempt=step.attempt, time_ns=step.time_ns)


@on(ExecutionPaused)
def remind(event: ExecutionPaused, delivery: Delivery) -> Iterator[Output]:
    unanswered = Unanswered(execution_id=event.execution_id)
    yield Later(f"reminder/{event.execution_id}", delivery.time_ns + HOUR_NS, unanswered)


class Counter(Component):
    def __init__(self, settings: dict[str, Any]) -> None:
        self.count = settings.get("from", 0)

    @action("count", effect="none")
    def execute(self, step: Step) -> int:
        """One more."""
        self.count += 1
        return int(self.count)


def test_an_action_is_called_as_a_function() -> None:
    assert run_action(add, {"left": 2}) == 3
    assert run_action(Counter, stated=Stated(ports={"settings": {"from": 4}})) == 5


def test_an_instance_keeps_what_it_has_between_calls() -> None:
    counter = Counter({})

    assert [run_action(counter), run_action(counter)] == [1, 2]


def test_what_a_test_states_is_what_the_function_sees() -> None:
    said = ask_gate(attempted, stated=Stated(attempt=3, time_ns=5))

    assert said == Verdict.passed(attempt=3, time_ns=5)
    assert step(Stated(goal="see")).goal == "see"


def test_what_serves_no_such_thing_is_refused() -> None:
    with pytest.raises(TypeError, match="Add serves none: name one gate"):
        ask_gate(add)
    with pytest.raises(TypeError, match="is not a component"):
        run_action(len)


def test_a_runtime_in_memory_runs_components_under_a_clock_of_the_test() -> None:
    with runtime(add) as world:
        first = StepExecute(execution_id="e1", step_id="a", action="add", parameters={"left": 1})
        world.publish(first)
        done = world.wait_for(StepCompleted, step_id="a")
        times = {record.time_ns for record in world.client.read()}

        assert done.result == {"value": 2}
        assert times == {world.clock.now_ns()}
        assert world.events(StepExecute) == [first]


def test_what_is_due_happens_when_the_test_lets_time_pass() -> None:
    with runtime(remind) as world:
        world.publish(ExecutionPaused(execution_id="e1", reason="approval"))
        away_s = world.wait_for_deadline("reminder/e1")
        world.advance(away_s - 1)
        early = world.events(Unanswered)
        world.advance(1)

        assert away_s == 3_600
        assert early == []
        assert world.wait_for(Unanswered).execution_id == "e1"


def test_what_does_not_come_says_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cortex.runtime.testing.in_memory.PATIENCE_S", 0.01)
    with (
        runtime(add) as world,
        pytest.raises(AssertionError, match=r"no step\.completed came; the log holds .*started"),
    ):
        world.wait_for(StepCompleted)


def test_a_clock_goes_only_where_it_is_moved() -> None:
    clock = VirtualClock(5)
    clock.advance(1.5)

    assert clock.now_ns() == 1_500_000_005
