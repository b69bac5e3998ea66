"""Actions and a model for homes that are killed; they stand in the home's plugins folder."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cortex.bus import Event
from cortex.bus.events import ModelInvoke, ModelResponded, StepCompleted, StepExecute
from cortex.runtime.kernel import Component, Delivery, Serves, on


class Marking(msgspec.Struct):
    """Where to leave a line, and how long to take after that, the first time."""

    file: str
    seconds: float = 0.0


class Marked(msgspec.Struct):
    """What came of it."""

    text: str


def leave(event: StepExecute) -> Iterator[Event]:
    """Leave the line; the first one takes its time after it, as something that is killed in it."""
    asked = msgspec.convert(event.parameters, Marking)
    with Path(asked.file).open("a") as file:
        first = file.tell() == 0
        file.write("mark\n")
    time.sleep(asked.seconds if first else 0)
    place = (event.execution_id, event.step_id, event.attempt)
    yield StepCompleted(
        execution_id=place[0], step_id=place[1], attempt=place[2], result={"text": "marked"}
    )


class Mark(Component):
    """Says nothing of its effect, so that it counts as one that may happen once."""

    workers = 1
    lease_s = 1.0
    serves = (Serves("action", "mark", Marking, Marked),)

    @on(StepExecute, where={"action": "mark"})
    def mark(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Leave the line."""
        yield from leave(event)


class Far(Component):
    """The same, on a worker."""

    workers = 1
    lease_s = 1.0
    serves = (Serves("action", "far", Marking, Marked),)

    @on(StepExecute, where={"action": "far"})
    def far(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Leave the line."""
        yield from leave(event)


class Look(Component):
    """Only reads, so it says: it may be run again."""

    workers = 1
    lease_s = 1.0
    serves = (Serves("action", "look", Marking, Marked, effect="read"),)

    @on(StepExecute, where={"action": "look"})
    def look(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Leave the line, so that tests can count."""
        yield from leave(event)


class Store(Component):
    """Leaves its line once for each key, however often it is asked with that."""

    workers = 1
    lease_s = 1.0
    serves = (Serves("action", "store", Marking, Marked, effect="idempotent"),)

    @on(StepExecute, where={"action": "store"})
    def store(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Leave the line, unless one with this key is there."""
        asked = msgspec.convert(event.parameters, Marking)
        with Path(asked.file).open("a+") as file:
            file.seek(0)
            if delivery.effect_key() not in file.read().splitlines():
                file.write(f"{delivery.effect_key()}\n")
        time.sleep(asked.seconds)
        place = (event.execution_id, event.step_id, event.attempt)
        yield StepCompleted(
            execution_id=place[0], step_id=place[1], attempt=place[2], result={"text": "stored"}
        )


class Replying(msgspec.Struct):
    """What its model is to mark for."""

    seconds: float = 0.0


class Reply(Component):
    """A step that gives what its model answers."""

    workers = 1
    serves = (
        Serves("action", "reply", Replying, Marked, traits={"asks_model": True}, effect="none"),
    )

    @on(StepExecute, where={"action": "reply"})
    def reply(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Give it."""
        place = (event.execution_id, event.step_id, event.attempt)
        result = {"text": str(event.answer.get("text", ""))}
        yield StepCompleted(
            execution_id=place[0], step_id=place[1], attempt=place[2], result=result
        )


class Thinker(Component):
    """A model that uses the tool once, and then says so."""

    workers = 1
    serves = (
        Serves(
            "model",
            "thinker",
            traits={
                "name": "thinker",
                "provider": "thinkers",
                "window": 64_000,
                "local": True,
                "tools": True,
            },
        ),
    )

    @on(ModelInvoke, where={"provider": "thinkers"})
    def invoke(self, event: ModelInvoke, delivery: Delivery) -> Iterator[Event]:
        """Answer."""
        calls = [{"id": "c1", "tool": "slowly.mark", "arguments": {"seconds": 600.0}}]
        first = event.turn == 0
        yield ModelResponded(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            turn=event.turn,
            call=event.call,
            model=event.model,
            prompt=event.prompt,
            answer={"text": "" if first else "marked", "calls": calls if first else []},
            stop="calls" if first else "end",
        )
