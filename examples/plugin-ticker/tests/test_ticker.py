"""The plugin ticker: it asks for what it uses, and its four components do what they say."""

import pytest
from cortex_ticker import PLUGIN
from cortex_ticker.actions import count_down
from cortex_ticker.gates import even_minute
from cortex_ticker.models import ticker
from cortex_ticker.observers import Tallied, Tally

import cortex
from cortex import testing
from cortex.events import ExecutionCompleted, ExecutionFailed, StepCompleted, StepExecute

MINUTE_NS = 60_000_000_000


def test_its_manifest_asks_for_all_that_its_components_use() -> None:
    assert testing.problems_of(PLUGIN) == []


def test_the_action_counts_down() -> None:
    assert testing.run_action(count_down, {"start": 3}) == {"text": "3 2 1 0"}


@pytest.mark.parametrize("start", [-1, 1_001, "three"])
def test_wrong_parameters_fail_the_step(start: object) -> None:
    with pytest.raises(cortex.StepError, match="^count_down: ") as raised:
        testing.run_action(count_down, {"start": start})

    assert not raised.value.retry


@pytest.mark.parametrize(("minute", "outcome"), [(2, "passed"), (3, "failed")])
def test_the_gate_goes_by_the_minute(minute: int, outcome: str) -> None:
    asked = testing.Stated(time_ns=minute * MINUTE_NS)

    verdict = testing.ask_gate(even_minute, stated=asked)

    assert verdict.outcome == outcome
    assert verdict.evidence == {"minute": minute}


def test_the_model_repeats_the_last_line() -> None:
    assert testing.ask_model(ticker, "one\ntwo") == "two"


def test_the_observer_keeps_a_tally() -> None:
    with testing.runtime(Tally) as world:
        world.publish(ExecutionCompleted(execution_id="1"))
        world.publish(ExecutionFailed(execution_id="2", reason="x"))

        world.wait_for(Tallied, failed=1)

        assert world.events(Tallied)[-1] == Tallied(completed=1, failed=1)


def test_its_components_run_in_a_runtime() -> None:
    with testing.runtime(count_down, even_minute, ticker, Tally) as world:
        asked = {"action": "count_down", "parameters": {"start": 1}}
        world.publish(StepExecute(execution_id="1", step_id="a", **asked))

        assert world.wait_for(StepCompleted, step_id="a").result == {"text": "1 0"}
