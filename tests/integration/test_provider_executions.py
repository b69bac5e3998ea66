"""Executions whose steps are answered by a configured model: an endpoint, a log, a person."""

import importlib.util
import json
import threading
import time
from pathlib import Path

import pytest

from cortex.actors.providers import HumanProvider, OpenAIProvider, ReplayProvider
from cortex.bus.events import (
    ComponentAnnounced,
    ExecutionCancel,
    ExecutionCompleted,
    ExecutionPause,
    ExecutionRequest,
    ExecutionResume,
    ModelDelta,
    ModelInvoke,
    ModelResponded,
)
from cortex.runtime.kernel import Home, Runtime

from ..servers import Answer, ScriptedOpenAI
from ..staff_world import ANSWERING, World

ALL_BEFORE = 1 << 62  # of a resume: whoever sends it has seen what was recorded before it

STAFF = (*ANSWERING, OpenAIProvider, ReplayProvider, HumanProvider)
PROCESS = """
process: ask_once
version: 1
description: Ask a model
steps:
  - id: answer
    description: Say why the build is broken
    action: answer_question
    with: { question: Why is the build broken? }
outputs:
  text: { type: string, value: "${steps.answer.text}" }
"""


def use(home: Home, **keys: str | int | bool) -> Home:
    """*home*, whose config.toml names one model, `m`."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    head = ["[models]", 'default = "m"', "[[models.use]]", 'name = "m"', "window = 100000"]
    # In the file: what computes in a process of its own reads it there.
    home.config_path.write_text("\n".join([*head, *lines]) + "\n")
    return home


def endpoint(home: Home, server: ScriptedOpenAI) -> Home:
    if importlib.util.find_spec("openai") is None:
        pytest.skip("the extra openai is not installed")
    return use(home, provider="openai", base_url=server.base_url, local=True)


def request(execution_id: str) -> ExecutionRequest:
    return ExecutionRequest(execution_id=execution_id, process="ask_once", goal="know it")


def test_an_endpoint_answers_a_step_and_what_it_says_is_shown_as_it_comes(home: Home) -> None:
    with (
        ScriptedOpenAI(Answer(text=("The ", "import."))) as server,
        Runtime(endpoint(home, server), components=STAFF) as runtime,
    ):
        world = World(runtime)
        world.compiled(PROCESS)
        live = world.client.follow(("model.delta", None))
        run = world.run("ask_once")
        assert run.outcome == "completed", run.end
        (piece, *_) = live.next(30.0)
        announced = [e.event for e in world.said() if isinstance(e.event, ComponentAnnounced)]

    assert run.last(ExecutionCompleted).outputs == {"text": "The import."}
    assert run.last(ModelInvoke).provider == "openai"
    delta = runtime.vocabulary.read(piece)
    assert isinstance(delta, ModelDelta)
    assert "The import.".startswith(delta.text)
    assert ("m", "OpenAIProvider") in [(e.name, e.component) for e in announced]
    (asked,) = server.asked
    sent = asked.raw.decode()
    assert "Why is the build broken?" in sent
    assert str(home.path) not in sent
    assert run.execution_id not in sent


def test_a_cancelled_execution_cancels_its_call(home: Home) -> None:
    with (
        ScriptedOpenAI(Answer(text=("x",) * 5_000, pause_s=0.005)) as server,
        Runtime(endpoint(home, server), components=STAFF) as runtime,
    ):
        world = World(runtime)
        world.compiled(PROCESS)
        live = world.client.follow(("model.delta", None))
        after = world.client.publish(request("e1"))
        assert live.next(30.0)
        world.client.publish(ExecutionCancel(execution_id="e1"))
        run = world.stopped("e1", after)
        until = time.monotonic() + 30
        while not server.script.hung_up and time.monotonic() < until:
            threading.Event().wait(0.01)

    assert run.outcome == "cancelled"
    assert server.script.hung_up
    assert server.script.hung_up[0] < 5_000
    assert not run.all(ModelResponded)


def test_a_recorded_answer_is_given_again_without_a_network(home: Home, tmp_path: Path) -> None:
    again = Home.create(tmp_path / "again")
    with (
        ScriptedOpenAI(Answer(text=("The import.",))) as server,
        Runtime(endpoint(home, server), components=STAFF) as runtime,
    ):
        world = World(runtime)
        world.compiled(PROCESS)
        first = world.run("ask_once")
    use(again, provider="replay", log=str(home.path))
    with Runtime(again, components=STAFF) as runtime:
        world = World(runtime)
        world.compiled(PROCESS)
        second = world.run("ask_once")

    assert second.last(ExecutionCompleted).outputs == first.last(ExecutionCompleted).outputs
    assert second.last(ModelInvoke).prompt == first.last(ModelInvoke).prompt
    assert len(server.asked) == 1


def test_a_person_answers_a_step_also_after_a_restart(home: Home) -> None:
    use(home, provider="human")
    with Runtime(home, components=STAFF) as runtime:
        world = World(runtime)
        world.compiled(PROCESS)
        after = world.client.publish(request("e1"))
        world.wait(lambda said: isinstance(said.event, ExecutionPause), after)
    with Runtime(home, components=STAFF) as runtime:
        world = World(runtime)
        after = world.client.publish(
            ExecutionResume(seen=ALL_BEFORE, execution_id="e1", answer="A typo.")
        )
        run = world.stopped("e1", after)

    assert run.last(ExecutionCompleted).outputs == {"text": "A typo."}
    assert run.last(ModelResponded).cost == 0.0
