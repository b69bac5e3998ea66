"""The provider `replay`: recorded answers, in their order, and nothing else."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.actors.providers import ReplayProvider
from cortex.bus import Event
from cortex.bus.events import (
    VOCABULARY,
    ExecutionCompleted,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
)
from cortex.runtime.context import ContextCompiler, PromptStep, Request
from cortex.runtime.kernel import Component, Config, Delivery, Home, Runtime, on
from cortex.runtime.log import MemoryBlobs

from .actors_world import delivery

ASKED, OTHER = "a" * 64, "b" * 64


class Listener(Component):
    """Takes the events of these tests."""

    @on(ModelResponded)
    def hear(self, event: ModelResponded, delivery: Delivery) -> None: ...


def recorded(prompt: str, text: str, **fields: Any) -> ModelResponded:
    return ModelResponded(
        execution_id="old", step_id="s", model="sonnet", prompt=prompt, answer={"text": text},
        input_tokens=10, output_tokens=2, cost=0.5, **fields,
    )  # fmt: skip


def record(home: Home, *events: Event) -> None:
    with Runtime(home, components=[Listener]) as runtime:
        runtime.client("model").publish(*events)


def provider(
    home: Home, log: str, model: str = "again", blobs: MemoryBlobs | None = None
) -> ReplayProvider:
    config = {"models": {"use": [{"name": model, "provider": "replay", "log": log}]}}
    return ReplayProvider(home, msgspec.convert(config, Config), VOCABULARY, blobs or MemoryBlobs())


def ask(prompt: str = ASKED, execution_id: str = "new", **fields: Any) -> ModelInvoke:
    return ModelInvoke(
        execution_id=execution_id, step_id="t", model="again", provider="replay", prompt=prompt,
        attempt=2, turn=3, **fields,
    )  # fmt: skip


def test_what_was_answered_when_prompts_were_texts_is_given_to_the_same_prompt(
    home: Home, tmp_path: Path
) -> None:
    step = PromptStep(process="p", id="s", description="Say why.")
    prompt = ContextCompiler().compile(Request(step=step, window=9_000))
    before = Home.create(tmp_path / "before")
    record(before, recorded(hashlib.sha256(prompt.text.encode()).hexdigest(), "the import"))
    blobs = MemoryBlobs()

    replay = provider(home, str(before.path), blobs=blobs)
    (said,) = replay.invoke(ask(blobs.put(prompt.encoded)), delivery())

    assert isinstance(said, ModelResponded)
    assert said.answer == {"text": "the import"}


@pytest.fixture
def old(tmp_path: Path) -> Home:
    home = Home.create(tmp_path / "old")
    record(
        home,
        recorded(ASKED, "first", stop="calls"),
        recorded(OTHER, "else"),
        recorded(ASKED, "second"),
    )
    return home


def test_the_same_prompt_gets_the_recorded_answers_in_their_order(old: Home, home: Home) -> None:
    replay = provider(home, str(old.path))

    said = [event for _ in range(3) for event in replay.invoke(ask(), delivery())]

    first, second, missing = said
    assert isinstance(first, ModelResponded)
    assert isinstance(second, ModelResponded)
    assert isinstance(missing, ModelFailed)
    assert (first.answer, first.stop) == ({"text": "first"}, "calls")
    assert second.answer == {"text": "second"}
    assert (first.execution_id, first.step_id, first.attempt, first.turn) == ("new", "t", 2, 3)
    assert (first.model, first.input_tokens, first.output_tokens) == ("again", 10, 2)
    assert first.cost == 0.0
    assert missing.kind == "missing"
    assert ASKED in missing.error


def test_each_execution_begins_with_the_first_answer(old: Home, home: Home) -> None:
    replay = provider(home, str(old.log_path))

    texts = [
        event.answer["text"]
        for name in ("one", "two")
        for event in replay.invoke(ask(execution_id=name), delivery())
        if isinstance(event, ModelResponded)
    ]

    assert texts == ["first", "first"]


@pytest.mark.parametrize("with_snapshot", [False, True])
def test_a_restart_goes_on_where_it_stood(old: Home, home: Home, with_snapshot: bool) -> None:
    before, after = provider(home, str(old.path)), provider(home, str(old.path))
    list(before.invoke(ask(), delivery()))
    list(before.invoke(ask(execution_id="over"), delivery()))
    over = ExecutionCompleted(execution_id="over")

    if with_snapshot:
        before.forget(over, delivery())
        after.restore(before.snapshot())
    else:
        for seen in (ask(), ask(execution_id="over"), over):
            after.recall(seen, delivery())

    for execution_id, text in (("new", "second"), ("over", "first")):
        (event,) = after.invoke(ask(execution_id=execution_id), delivery())
        assert isinstance(event, ModelResponded)
        assert event.answer == {"text": text}


def test_answers_that_are_recorded_later_are_found(old: Home, home: Home) -> None:
    replay = provider(home, str(old.path))
    list(replay.invoke(ask("c" * 64), delivery()))
    record(old, recorded("d" * 64, "late"))

    (event,) = replay.invoke(ask("d" * 64), delivery())

    assert isinstance(event, ModelResponded)


def test_a_log_is_found_from_the_folder_of_the_home(tmp_path: Path, old: Home) -> None:
    home = Home.create(tmp_path / "new")

    (event,) = provider(home, "../old").invoke(ask(), delivery())

    assert isinstance(event, ModelResponded)


@pytest.mark.parametrize("log", ["nowhere", "config.toml"])
def test_a_log_that_cannot_be_read_is_missing_and_its_path_not_told(home: Home, log: str) -> None:
    (event,) = provider(home, log).invoke(ask(), delivery())

    assert isinstance(event, ModelFailed)
    assert event.kind == "missing"
    assert str(home.path) not in event.error


def test_a_model_that_is_not_configured_is_missing(old: Home, home: Home) -> None:
    (event,) = provider(home, str(old.path), model="other").invoke(ask(), delivery())

    assert isinstance(event, ModelFailed)
    assert event.kind == "missing"
