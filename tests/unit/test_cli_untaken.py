"""Whether the step at hand waits for somebody to take it, as the log alone tells it."""

import time
from pathlib import Path

from cortex.bus import Claim, Draft, Event, Hub, Publish, Subscribe, system_entropy
from cortex.bus.events import (
    VOCABULARY,
    ExecutionRequest,
    ExecutionStarted,
    StepCompleted,
    StepExecute,
)
from cortex.runtime.executions import ENGINE
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.log import AgentWork, MemoryBlobs, MemoryLog
from cortex.runtime.sessions import untaken_action

LEASE_NS = 3_600 * 1_000_000_000
GREET = (("step.execute", "greet"),)
REQUEST = ExecutionRequest(execution_id="e1", process="hi")
STARTED = ExecutionStarted(
    execution_id="e1", process="hi", process_version=1, digest="", linked="", inputs={}, goal="",
    workspace="", trigger="",
)  # fmt: skip
ASKED = StepExecute(execution_id="e1", step_id="greet", action="greet")
DONE = StepCompleted(execution_id="e1", step_id="greet")


class World:
    def __init__(self, folder: Path) -> None:
        self.log = MemoryLog()
        self.hub = Hub(self.log, VOCABULARY, system_entropy, policy=AgentWork())
        self.history = History(Home(folder), self.log, MemoryBlobs())

    def ask(self) -> None:
        """Let the engine ask for the step."""
        self.publish("cli", REQUEST)
        self.publish(ENGINE, STARTED)
        self.publish(ENGINE, ASKED)

    def publish(self, source: str, event: Event) -> None:
        """Record *event*, caused by the one before."""
        draft = Draft.of(event, causation=self.hub.head or None)
        now_ns = time.monotonic_ns()
        self.hub.handle([(source, Publish((draft,)))], now_ns, now_ns)

    def untaken(self) -> str:
        return untaken_action(self.history, self.log, "e1")


def test_a_step_that_nobody_ever_subscribed_to_is_untaken_until_it_is_over(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.ask()

    before = world.untaken()
    world.publish("Greet", DONE)

    assert (before, world.untaken()) == ("greet", "")


def test_a_step_is_untaken_only_while_no_worker_has_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.hub.handle([("w", Subscribe("Greet", "work", GREET))], 1)
    world.ask()

    before = world.untaken()
    now_ns = time.monotonic_ns()
    world.hub.handle([("w", Claim("Greet", 1, LEASE_NS))], now_ns, now_ns)

    assert (before, world.untaken()) == ("greet", "")


def test_a_step_that_a_component_with_a_cursor_answers_for_is_taken(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.hub.handle([("w", Subscribe("Greet", "ordered", GREET))], 1)
    world.ask()

    assert world.untaken() == ""
