"""What a home serves whose processes are killed: actions, a model, a watcher of files.

Each effect leaves a line in a file that is called after its execution, each time it begins.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cortex.actors.managers import FileWatchManager
from cortex.bus import Event
from cortex.bus.events import ModelInvoke, ModelResponded, StepCompleted, StepExecute
from cortex.runtime.kernel import Component, Delivery, Home, Serves, on

EACH = "each"  # in the workspace: the folder with a file for each execution
TRIES = ".tries"  # after the name of the file that counts how often a repeated effect was asked for
TOOL_S = 0.7


class Lasting(msgspec.Struct):
    """How long it takes once it has begun."""

    seconds: float = 0.0


class Gave(msgspec.Struct):
    """What came of it."""

    text: str


class Marking(Component):
    """What leaves lines in the workspace of its home."""

    workers = 1
    lease_s = 1.0

    def __init__(self, home: Home) -> None:
        self._folder = home.workspace / EACH

    def leave(self, event: StepExecute, line: str) -> Iterator[Event]:
        """Leave the line, and take some time."""
        with (self._folder / event.execution_id).open("a") as file:
            file.write(f"{line}\n")
        time.sleep(msgspec.convert(event.parameters, Lasting).seconds)
        yield gave(event)


class Mark(Marking):
    """Says nothing of its effect, so that it counts as one that may happen once."""

    serves = (Serves("action", "mark", Lasting, Gave),)

    @on(StepExecute, where={"action": "mark"})
    def mark(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Leave the line."""
        yield from self.leave(event, delivery.effect_key())


class Far(Marking):
    """The same, on a worker."""

    serves = (Serves("action", "far", Lasting, Gave),)

    @on(StepExecute, where={"action": "far"})
    def far(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Leave the line."""
        yield from self.leave(event, delivery.effect_key())


class Look(Marking):
    """Only reads, so it says: it may be run again."""

    serves = (Serves("action", "look", Lasting, Gave, effect="read"),)

    @on(StepExecute, where={"action": "look"})
    def look(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Leave the line, so that tests can count."""
        yield from self.leave(event, delivery.effect_key())


class Store(Marking):
    """Leaves its line once for each key, however often it is asked with that."""

    serves = (Serves("action", "store", Lasting, Gave, effect="idempotent"),)

    @on(StepExecute, where={"action": "store"})
    def store(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Leave the line, unless one with this key is there."""
        key = delivery.effect_key()
        with (self._folder / f"{event.execution_id}{TRIES}").open("a") as tries:
            tries.write(f"{key}\n")
        with (self._folder / event.execution_id).open("a+") as file:
            file.seek(0)
            if key not in file.read().splitlines():
                file.write(f"{key}\n")
        time.sleep(msgspec.convert(event.parameters, Lasting).seconds)
        yield gave(event)


class Reply(Component):
    """A step that gives what its model answers."""

    workers = 1
    serves = (Serves("action", "reply", Lasting, Gave, traits={"asks_model": True}, effect="none"),)

    @on(StepExecute, where={"action": "reply"})
    def reply(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Give it."""
        yield gave(event, str(event.answer.get("text", "")))


class Thinker(Component):
    """A model that uses the tool once, and then says so."""

    workers = 1
    serves = (
        Serves(
            "model",
            "thinker",
            traits={
                "name": "thinker",
                "provider": "thinker",
                "window": 64_000,
                "local": True,
                "tools": True,
            },
        ),
    )

    @on(ModelInvoke, where={"provider": "thinker"})
    def invoke(self, event: ModelInvoke, delivery: Delivery) -> Iterator[Event]:
        """Answer."""
        arguments = {"name": event.execution_id, "seconds": TOOL_S}
        calls = [{"id": "c1", "tool": "marks.mark", "arguments": arguments}]
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


class Watch(FileWatchManager):
    """The watcher of files in a process of its own, beside the one of the hub."""


def gave(event: StepExecute, text: str = "marked") -> StepCompleted:
    """The end of a step."""
    return StepCompleted(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        result={"text": text},
    )


def lines_in(path: Path) -> int:
    """How many lines a file has; none where it is not there."""
    try:
        return len(path.read_text().splitlines())
    except FileNotFoundError:
        return 0
