"""Declared effects: what says nothing may happen once, and the hub takes one intent for each."""

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from cortex.bus import EFFECTS, Batch, BegunError, Draft, Effect, Event, Publish, effect_of
from cortex.bus.events import (
    EffectIntended,
    ExecutionCancelled,
    StepExecute,
    StepFailed,
    ToolCall,
)
from cortex.runtime.kernel import (
    AsyncComponent,
    Begun,
    Component,
    Config,
    Delivery,
    Runtime,
    Serves,
    announcement_of,
    built_in,
    load,
    on,
)
from cortex.runtime.log import MemoryLog
from cortex.runtime.subjects import PersonalLog

ASKED = StepExecute(execution_id="e1", step_id="s", action="act")


class Silent(Component):
    workers = 1
    serves = (Serves("action", "silent"),)

    @on(StepExecute, where={"action": "silent"})
    def act(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        yield from ()


def begun(position: int, time_ns: int, asked: StepExecute = ASKED) -> EffectIntended:
    return Begun.of(asked, f"{position}/{time_ns}/C/0", "C").intended()


def intend(runtime: Runtime, position: int, event: EffectIntended) -> Any:
    draft = Draft.of(event, causation=position)
    return runtime.hub.ask_one("C", Publish((draft,), sync=True))


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    with Runtime(components=()) as runtime:
        yield runtime


@pytest.mark.parametrize("said", [None, "", "write", "sometimes"])
def test_what_is_no_effect_counts_as_one_that_happens_once(said: object) -> None:
    assert effect_of(said) == "once"


def test_what_declares_nothing_announces_nothing_unless_its_plugin_does() -> None:
    (serves,) = Silent.serves

    assert "effect" not in announcement_of(Silent, serves).traits
    assert announcement_of(Silent, serves, {serves.name: "read"}).traits == {"effect": "read"}
    assert announcement_of(Silent, serves, {"Silent": "none"}).traits == {"effect": "none"}
    assert announcement_of(Silent, serves, {serves.name: "read", "Silent": "none"}).traits == {
        "effect": "read"
    }


def test_every_action_and_tool_that_comes_with_cortex_declares_its_effect() -> None:
    served = [
        serves
        for entry in built_in()
        for serves in load(entry.component).announces(Config())
        if serves.kind in ("action", "tool")
    ]

    assert {s.name for s in served if s.declares() not in EFFECTS} == set()
    assert {s.name for s in served if s.declares() == "once"} == {
        "shell", "run_command", "send_notification"
    }  # fmt: skip


def test_the_hub_takes_one_intent_for_an_effect(runtime: Runtime) -> None:
    position = runtime.client("t").publish(ASKED)
    record = next(iter(runtime.client("t").read(position - 1)))
    event = begun(position, record.time_ns)

    intend(runtime, position, event)

    with pytest.raises(BegunError, match="began before"):
        intend(runtime, position, event)


@pytest.mark.parametrize(
    "end",
    [
        StepFailed(execution_id="e1", step_id="s", error="late"),
        ExecutionCancelled(execution_id="e1", reason="no"),
    ],
)
def test_nobody_begins_what_is_not_wanted_any_more(runtime: Runtime, end: Event) -> None:
    client = runtime.client("t")
    position = client.publish(ASKED)
    record = next(iter(client.read(position - 1)))
    client.publish(end)

    with pytest.raises(BegunError, match="is no longer wanted"):
        intend(runtime, position, begun(position, record.time_ns))


def test_an_intent_names_the_request_that_it_is_about(runtime: Runtime) -> None:
    client = runtime.client("t")
    position = client.publish(ASKED)

    with pytest.raises(Exception, match="is not a key of an effect of its cause"):
        intend(runtime, position, begun(position + 7, 1))


def test_a_tool_call_says_what_it_is_about() -> None:
    call = ToolCall(
        execution_id="e1", step_id="s", turn=2, call_id="c", tool="t", provider="p",
        arguments={"a": 1},
    )  # fmt: skip

    unknown = Begun.of(call, "k", "C").unknown("it was killed", 5)

    assert (unknown.kind, unknown.turn, unknown.call_id) == ("tool", 2, "c")
    assert (unknown.parameters, unknown.began_ns) == ({"a": 1}, 5)


class SyncedLog(MemoryLog):
    """Knows up to where it would survive a loss of power."""

    synced = 0

    def write(self, batch: Batch) -> None:
        """Keep *batch*."""
        super().write(batch)
        if batch.sync:
            self.synced = self.state().head


class Noting:
    """What was synced when a handler was called."""

    effect: Effect

    def __init__(self, log: PersonalLog) -> None:
        assert isinstance(log.stored, SyncedLog)
        self._log = log.stored

    def note(self, delivery: Delivery) -> None:
        SYNCED.append(self._log.synced >= delivery.position)


SYNCED: list[bool] = []


def serving(effect: Effect) -> tuple[Serves, ...]:
    return (Serves("action", "act", effect=effect),)


class OnWork(Noting, Component):
    workers = 1

    @on(StepExecute, where={"action": "act"})
    def act(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        self.note(delivery)
        yield from ()


class InOrder(Noting, Component):
    @on(StepExecute, where={"action": "act"})
    def act(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        self.note(delivery)
        yield from ()


class SideBySide(Noting, AsyncComponent):
    @on(StepExecute, where={"action": "act"})
    async def act(self, event: StepExecute, delivery: Delivery) -> AsyncIterator[Event]:
        self.note(delivery)
        for none in tuple[Event, ...]():
            yield none


@pytest.mark.parametrize("kind", [OnWork, InOrder, SideBySide])
@pytest.mark.parametrize(
    ("effect", "synced"),
    [("none", False), ("read", False), ("idempotent", True), ("once", True)],
)
def test_what_asks_for_an_effect_would_survive_a_loss_of_power_before_that_begins(
    kind: type[Component], effect: Effect, synced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    SYNCED.clear()
    monkeypatch.setattr(kind, "serves", serving(effect))
    with Runtime(components=[kind], log=SyncedLog()) as runtime:
        client = runtime.client("t")
        for _ in range(3):
            client.publish(ASKED)
        deadline = time.monotonic() + 30
        while len(SYNCED) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)

    assert 3 * [synced] == SYNCED
