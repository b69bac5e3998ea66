"""A plugin whose process is killed in the middle of its action; the chaos test installs it."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import Event
from cortex.bus.events import StepCompleted, StepExecute
from cortex.plugins import FileWant, Limits, Manifest, Wants
from cortex.runtime.kernel import Component, Delivery, Serves, on

PLUGIN = Manifest(
    name="chaos",
    version="1.0.0",
    cortex=">=0.1",
    components=("chaos_plugin:Plug",),
    subscribes=("step.execute=plug",),
    publishes=("step.completed",),
    wants=Wants(files=(FileWant("./each", "write"),)),
    limits=Limits(restarts=100),
)


class Lasting(msgspec.Struct):
    """How long it takes once it has begun."""

    seconds: float = 0.0


class Gave(msgspec.Struct):
    """What came of it."""

    text: str


class Plug(Component):
    """Says nothing of its effect, so that it counts as one that may happen once."""

    workers = 1
    lease_s = 1.0
    serves = (Serves("action", "plug", Lasting, Gave),)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._folder = Path(settings["folder"])

    @on(StepExecute, where={"action": "plug"})
    def plug(self, event: StepExecute, delivery: Delivery) -> Iterator[Event]:
        """Leave the line, and take some time."""
        with (self._folder / event.execution_id).open("a") as file:
            file.write(f"{delivery.effect_key()}\n")
        time.sleep(msgspec.convert(event.parameters, Lasting).seconds)
        yield StepCompleted(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            result={"text": "marked"},
        )
