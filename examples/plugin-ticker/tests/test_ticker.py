"""The plugin ticker: it asks for what it uses, and its four components do what they say."""

from collections.abc import Iterator

import pytest
from cortex_ticker import PLUGIN
from cortex_ticker.actions import CountDown
from cortex_ticker.gates import EvenMinute
from cortex_ticker.models import Ticker
from cortex_ticker.observers import Tally

from cortex.bus import Event, Recorded, as_map
from cortex.bus.events import (
    ExecutionCompleted,
    GateEvaluate,
    ModelInvoke,
    StepExecute,
)
from cortex.plugins import problems_of
from cortex.runtime.kernel import Runtime


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """A runtime in memory, with nothing in it but this plugin's components."""
    with Runtime(components=[CountDown, EvenMinute, Ticker, Tally]) as runtime:
        yield runtime


def answer(runtime: Runtime, event: Event, topic: str) -> dict[str, object]:
    """The body of what is published as *topic* once *event* is."""
    client = runtime.client("test")
    feed = client.follow((topic, None))
    client.publish(event)
    records: list[Recorded] = []
    while not records:
        records = feed.next(wait_s=30)
    feed.close()
    return as_map(records[0])


def test_its_manifest_asks_for_all_that_its_components_use() -> None:
    assert problems_of(PLUGIN) == []


def step(start: object) -> StepExecute:
    parameters = {"start": start}
    return StepExecute(execution_id="1", step_id="a", action="count_down", parameters=parameters)


def test_the_action_counts_down(runtime: Runtime) -> None:
    assert answer(runtime, step(3), "step.completed")["result"] == {"text": "3 2 1 0"}


@pytest.mark.parametrize("start", [-1, 1_001, "three"])
def test_wrong_parameters_fail_the_step(runtime: Runtime, start: object) -> None:
    failed = answer(runtime, step(start), "step.failed")

    assert str(failed["error"]).startswith("count_down: ")
    assert failed["retry"] is False


def test_the_gate_goes_by_the_minute(runtime: Runtime) -> None:
    event = GateEvaluate(execution_id="1", gate="even_minute")

    evaluated = answer(runtime, event, "gate.evaluated")

    even = evaluated["evidence"]["minute"] % 2 == 0
    assert evaluated["outcome"] == ("passed" if even else "failed")


def test_the_model_repeats_the_last_line(runtime: Runtime) -> None:
    prompt = runtime.blobs.put(b"one\ntwo")
    event = ModelInvoke(
        execution_id="1", step_id="a", model="ticker", provider="ticker", prompt=prompt
    )

    assert answer(runtime, event, "model.responded")["answer"] == {"text": "two"}


def test_the_observer_keeps_a_tally(runtime: Runtime) -> None:
    tallied = answer(runtime, ExecutionCompleted(execution_id="1"), "x.ticker.tallied")

    assert (tallied["completed"], tallied["failed"]) == (1, 0)
