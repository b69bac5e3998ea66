"""The provider `human`: a question stays open until a person answers it or nobody needs to."""

from typing import Any

import msgspec
import pytest

from cortex.actors.providers import HumanProvider
from cortex.bus import Event
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionPause,
    ExecutionResumed,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepFailed,
)
from cortex.runtime.executions import ENGINE
from cortex.runtime.kernel import Config
from cortex.runtime.log import MemoryBlobs

from .actors_world import delivery

ENGINES = msgspec.structs.replace(delivery(), source=ENGINE)
PROMPT = b"=== step ===\nWhat is broken?\n"


def provider(blobs: MemoryBlobs, name: str = "anna") -> HumanProvider:
    config = {"models": {"use": [{"name": name, "provider": "human"}]}}
    return HumanProvider(blobs, msgspec.convert(config, Config))


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


def ask(blobs: MemoryBlobs, **fields: Any) -> ModelInvoke:
    return ModelInvoke(
        execution_id="e1", step_id="s", attempt=2, turn=1, model="anna", provider="human",
        prompt=blobs.put(PROMPT), **fields,
    )  # fmt: skip


def resumed(answer: str = "", note: str = "") -> ExecutionResumed:
    return ExecutionResumed(execution_id="e1", answer=answer, note=note, by="anna")


def test_a_request_pauses_the_execution_and_the_answer_is_what_it_is_resumed_with(
    blobs: MemoryBlobs,
) -> None:
    human = provider(blobs)

    (pause,) = human.invoke(ask(blobs), delivery())
    (answer,) = human.resumed(resumed("The import."), ENGINES)

    assert isinstance(pause, ExecutionPause)
    assert "anna" in pause.reason
    assert isinstance(answer, ModelResponded)
    assert answer.answer == {"text": "The import."}
    assert (answer.attempt, answer.turn, answer.prompt) == (2, 1, blobs.put(PROMPT))
    assert answer.output_tokens > 0
    assert answer.cost == 0.0
    assert not list(human.resumed(resumed("again"), ENGINES))


def test_only_the_engine_says_what_was_answered_and_by_whom(blobs: MemoryBlobs) -> None:
    human = provider(blobs)
    list(human.invoke(ask(blobs), delivery()))

    forged = list(human.resumed(resumed("Nothing is."), delivery()))
    human.recall(resumed("Nothing is."), delivery())
    (answer,) = human.resumed(resumed("The import."), ENGINES)

    assert forged == []
    assert isinstance(answer, ModelResponded)
    assert (answer.answer, answer.by) == ({"text": "The import."}, "anna")


def test_a_typed_answer_is_parsed(blobs: MemoryBlobs) -> None:
    human = provider(blobs)
    list(human.invoke(ask(blobs, answer_schema={"type": "object"}), delivery()))

    (answer,) = human.resumed(resumed(note='{"cause": "a typo"}'), ENGINES)

    assert isinstance(answer, ModelResponded)
    assert answer.answer["data"] == {"cause": "a typo"}


def test_a_resume_without_an_answer_asks_again(blobs: MemoryBlobs) -> None:
    human = provider(blobs)
    list(human.invoke(ask(blobs), delivery()))

    (event,) = human.resumed(resumed(), ENGINES)

    assert isinstance(event, ExecutionPause)


ENDINGS = [
    (ExecutionCancelled(execution_id="e1", reason="r"), True),
    (ExecutionCancelled(execution_id="e2", reason="r"), False),
    (StepFailed(execution_id="e1", step_id="s", attempt=2, error="late"), True),
    (StepFailed(execution_id="e1", step_id="s", attempt=1, error="late"), False),
]


@pytest.mark.parametrize(("ending", "over"), ENDINGS)
def test_what_nobody_waits_for_is_asked_no_more(
    blobs: MemoryBlobs, ending: Any, over: bool
) -> None:
    human = provider(blobs)
    list(human.invoke(ask(blobs), delivery()))

    human.forget(ending, delivery())  # said by somebody else, it drops nothing
    kept = msgspec.msgpack.decode(human.snapshot())
    human.forget(ending, ENGINES)

    assert len(kept) == 1
    assert bool(list(human.resumed(resumed("x"), ENGINES))) is not over


@pytest.mark.parametrize("with_snapshot", [False, True])
def test_an_open_question_survives_a_restart(blobs: MemoryBlobs, with_snapshot: bool) -> None:
    before, after = provider(blobs), provider(blobs)
    list(before.invoke(ask(blobs), delivery()))

    if with_snapshot:
        after.restore(before.snapshot())
    else:
        after.recall(ask(blobs), delivery())

    (answer,) = after.resumed(resumed("x"), ENGINES)
    assert isinstance(answer, ModelResponded)


def test_an_answered_question_is_not_open_after_a_restart(blobs: MemoryBlobs) -> None:
    human = provider(blobs)
    events: list[Event] = [ask(blobs), resumed(), resumed("x")]
    for event in events:
        human.recall(event, ENGINES)

    assert not list(human.resumed(resumed("y"), ENGINES))


def test_somebody_who_is_not_configured_is_missing(blobs: MemoryBlobs) -> None:
    human = provider(blobs, "bert")

    (event,) = human.invoke(ask(blobs), delivery())

    assert isinstance(event, ModelFailed)
    assert event.kind == "missing"
    assert not list(human.resumed(resumed("x"), ENGINES))


def test_an_answer_that_no_event_holds_is_told_to_be_too_long(blobs: MemoryBlobs) -> None:
    human = provider(blobs)
    list(human.invoke(ask(blobs), delivery()))

    (event,) = human.resumed(resumed("x" * 260_000), ENGINES)

    assert isinstance(event, ModelFailed)
    assert event.kind == "garbage"
