"""A decorated function answers for models: pieces are shown as they come, kinds are kept."""

from collections.abc import AsyncIterator, Iterator

import pytest

from cortex.actors.providers.calls import ModelStep, provider
from cortex.bus.events import ModelDelta, ModelFailed, ModelInvoke, ModelResponded
from cortex.runtime.functions import StepError
from cortex.runtime.kernel import (
    Component,
    ComponentInvalidError,
    Config,
    Delivery,
    component_of,
    construct,
)
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.testing import Stated, ask_model

CONFIG = """
[[models.use]]
name = "loud"
provider = "echo"
price_input = 1.0
price_output = 2.0
"""


@provider("parrot", model={"window": 9_000, "local": True})
def parrot(prompt: str) -> str:
    """Says the last line again."""
    return prompt.splitlines()[-1]


@provider("echo")
async def echo(prompt: str, step: ModelStep, *, settings: dict[str, str]) -> AsyncIterator[str]:
    """Says every word."""
    for word in step.parts.user.split():
        if word == "stop":
            raise StepError("the endpoint is busy", kind="overloaded")
        yield f"{word}{settings.get('mark', '')} "


@provider("pieces", model={"window": 9_000, "local": True})
def pieces(prompt: str, step: ModelStep) -> Iterator[str]:
    """Says it in two pieces."""
    yield step.event.model
    yield prompt


def test_a_model_that_is_always_there_is_announced_and_answers() -> None:
    found = component_of(parrot)
    assert found is not None

    (serves,) = found.announces(Config())

    assert (serves.kind, serves.name) == ("model", "parrot")
    assert (serves.traits["window"], serves.traits["provider"]) == (9_000, "parrot")
    assert ask_model(parrot, "one\ntwo") == "two"
    assert ask_model(pieces, "x") == "piecesx"


def test_models_of_the_configuration_are_announced_and_answer() -> None:
    given = Stated(ports={"config": Config.parse(CONFIG), "settings": {"mark": "!"}})

    assert ask_model(echo, "a b", given) == "a! b! "


def test_pieces_are_told_as_they_come_and_tokens_are_counted() -> None:
    found, blobs = component_of(pieces), MemoryBlobs()
    assert found is not None
    ports = {"blobs": blobs, "config": Config(), "home": None}
    made: Component = construct(found, ports)
    event = ModelInvoke(
        execution_id="e1",
        step_id="s1",
        attempt=3,
        turn=2,
        model="pieces",
        provider="pieces",
        prompt=blobs.put(b"one two"),
    )

    first, second, answer = made.invoke(event, Delivery(1, 1, "Pieces"))  # type: ignore[attr-defined]

    assert isinstance(first, ModelDelta)
    assert [(each.number, each.text) for each in (first, second)] == [(0, "pieces"), (1, "one two")]
    assert isinstance(answer, ModelResponded)
    assert (answer.attempt, answer.turn, answer.answer) == (3, 2, {"text": "piecesone two"})
    assert (answer.input_tokens, answer.output_tokens) == (2, 3)


def test_the_kind_of_a_failure_says_whether_it_is_asked_again() -> None:
    given = Stated(ports={"config": Config.parse(CONFIG)})

    with pytest.raises(StepError) as raised:
        ask_model(echo, "a stop b", given)

    assert (raised.value.kind, raised.value.retry) == ("overloaded", True)
    assert str(raised.value) == "the endpoint is busy"


def test_a_model_that_is_not_configured_any_more_is_missing() -> None:
    found = component_of(parrot)
    assert found is not None
    ports = {"blobs": MemoryBlobs(), "config": Config(), "home": None}
    made: Component = construct(found, ports)
    event = ModelInvoke(
        execution_id="e1", step_id="s1", model="gone", provider="parrot", prompt="0" * 64
    )

    (failed,) = made.invoke(event, Delivery(1, 1, "Parrot"))  # type: ignore[attr-defined]

    assert isinstance(failed, ModelFailed)
    assert (failed.kind, failed.error, failed.retry) == (
        "missing",
        "it is not configured any more",
        False,
    )


def test_a_model_that_is_described_wrongly_is_refused() -> None:
    with pytest.raises(ComponentInvalidError, match="describes its model wrongly"):
        provider("bad", model={"window": "large", "local": True})
