"""Which of several configured models answers a step, and who answers where the first cannot."""

import importlib.util
import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from cortex.actors.providers import ExtractiveProvider, OpenAIProvider
from cortex.bus.events import ContextCompile, ModelSelected, StepCompleted
from cortex.runtime.kernel import Home, Runtime

from ..servers import Answer, ScriptedOpenAI
from ..staff_world import ANSWERING, World

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openai") is None, reason="the extra openai is not installed"
)

STAFF = (*dict.fromkeys((*ANSWERING, ExtractiveProvider, OpenAIProvider)),)
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
LEVELS = ("low", "medium", "high")


class Servers:
    """An endpoint for each level, the weaker the cheaper."""

    def __init__(self, home: Home, *answers: Answer) -> None:
        self._stack = ExitStack()
        lines = ["[models]"]
        self.servers = [self._stack.enter_context(ScriptedOpenAI(each)) for each in answers]
        for price, (level, server) in enumerate(zip(LEVELS, self.servers, strict=False)):
            table = {
                "name": level, "provider": "openai", "base_url": server.base_url, "local": True,
                "window": 100_000, "reasoning": level, "code": level, "price_input": price,
                "price_output": price,
            }  # fmt: skip
            lines += ["[[models.use]]", *(f"{k} = {json.dumps(v)}" for k, v in table.items())]
        # In the file: what computes in a process of its own reads it there.
        home.config_path.write_text("\n".join(lines) + "\n")

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def servers(home: Home) -> Iterator[Servers]:
    said = [Answer(text=("",)), Answer(text=("The import.",)), Answer(text=("No.",))]
    servers = Servers(home, *said)
    yield servers
    servers.close()


def test_an_empty_answer_goes_to_the_next_better_model_and_that_is_recorded(
    home: Home, servers: Servers
) -> None:
    with Runtime(home, components=STAFF) as runtime:
        world = World(runtime)
        world.compiled(PROCESS)
        run = world.run("ask_once")

    assert run.outcome == "completed", run.end
    first, second = run.all(ModelSelected)
    assert (first.model, first.needs) == ("low", {})
    assert first.inferred == {"reasoning": "low"}
    assert first.inferred_from == {"reasoning": "a model is asked"}
    assert (second.model, second.unfit) == ("medium", ("low",))
    assert "next better" in second.because
    assert run.all(ContextCompile)[1].problem == "the answer is empty, expected text"
    assert [len(server.asked) for server in servers.servers] == [1, 1, 0]
    assert run.last(StepCompleted).result["text"] == "The import."


def test_without_a_model_the_stand_in_answers_and_the_summary_says_that_none_was_asked(
    home: Home,
) -> None:
    with Runtime(home, components=STAFF) as runtime:
        world = World(runtime)
        world.compiled(PROCESS)
        run = world.run("ask_once")

    assert run.outcome == "completed", run.end
    assert run.last(ModelSelected).model == "extractive"
    assert "no model is asked" in run.last(ModelSelected).because
    assert "no model was asked" in run.last(StepCompleted).summary
