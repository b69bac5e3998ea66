"""The context of an execution is followed prompt by prompt until the execution has ended."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cortex.bus import Draft, Event, Hub, Publish, system_entropy
from cortex.bus.events import (
    VOCABULARY,
    ContextCompiled,
    ExecutionCompleted,
    ExecutionHalted,
    ExecutionStarted,
)
from cortex.runtime.admin import FollowedContext
from cortex.runtime.context import ContextCompiler, PromptStep, Request
from cortex.runtime.executions import ENGINE
from cortex.runtime.kernel import Home
from cortex.runtime.log import AgentWork, BlobStore, EventLog

STARTED = ExecutionStarted(
    execution_id="e1", process="hi", process_version=1, digest="", linked="", inputs={}, goal="",
    workspace="", trigger="",
)  # fmt: skip


class World:
    """A home whose log this test writes, and which is read beside it."""

    def __init__(self, folder: Path) -> None:
        self.home = Home.create(folder / ".cortex")
        self.blobs = BlobStore(self.home.blobs)
        self.log = EventLog.open(self.home.log_path)
        self.hub = Hub(self.log, VOCABULARY, system_entropy, policy=AgentWork())

    def say(self, event: Event) -> None:
        draft = Draft.of(event, causation=self.hub.head or None)
        self.hub.handle([(ENGINE, Publish((draft,)))], 1, 1)

    def compiled(self, turn: int) -> ContextCompiled:
        step = PromptStep(process="hi", id="greet", description="Greet. " * (1 + turn))
        prompt = ContextCompiler().compile(Request(step=step, window=32_000))
        return ContextCompiled(
            execution_id="e1", step_id="greet", turn=turn, model="m",
            prompt=self.blobs.put(prompt.text.encode()),
            manifest=self.blobs.put(msgspec.json.encode(prompt.manifest)),
            tokens=prompt.tokens, sections=prompt.sections, window=12_800, headroom=800,
        )  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.log.close()


@pytest.mark.parametrize(
    ("last", "status"),
    [
        (ExecutionCompleted(execution_id="e1"), "completed"),
        (ExecutionHalted(execution_id="e1", reason="a gate said no"), "halted"),
    ],
)
def test_each_prompt_is_shown_as_it_comes_and_the_end_ends_it(
    world: World, last: Event, status: str
) -> None:
    following = FollowedContext(world.home, "")
    seen = following.prompts()

    assert next(seen) is None
    world.say(STARTED)
    world.say(world.compiled(0))
    first = next(seen)
    world.say(world.compiled(1))
    second = next(seen)
    world.say(last)
    after = list(seen)

    assert first is not None
    assert second is not None
    assert (first.turn, second.turn) == (0, 1)
    assert second.turns[0] == first.tokens < second.tokens
    assert (after, following.status) == ([], status)
