"""Which model a step gets, and what the embedded one answers."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.actors.providers import ExtractiveProvider
from cortex.bus.events import ModelFailed, ModelInvoke, ModelResponded
from cortex.runtime.context import (
    ContextCompiler,
    Item,
    PromptStep,
    Request,
    passages_of,
    read_text,
)
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.models import (
    TYPICAL,
    ModelDescription,
    Price,
    Selected,
    Usage,
    cost,
    dollars,
    select,
)

from .actors_world import delivery

LOCAL = ModelDescription(name="local", window=100_000, local=True)
CHEAP = ModelDescription(
    name="cheap", window=200_000, local=False, price=Price(input=1), reasoning="low"
)
DEAR = ModelDescription(
    name="dear", window=200_000, local=False, price=Price(input=3, output=15), reasoning="high"
)
LEVELS = ["low", "medium", "high"]


def chosen(needs: dict[str, Any], *models: ModelDescription, preferred: str = "") -> Selected:
    selected = select(models, needs, preferred)
    assert isinstance(selected, Selected)
    return selected


@pytest.mark.parametrize(
    ("needs", "name"),
    [
        ({}, "local"),
        ({"reasoning": "low"}, "cheap"),
        ({"reasoning": "medium"}, "dear"),
        ({"context_tokens": 150_000}, "cheap"),
        ({"sensitivity": "local", "context_tokens": None}, "local"),
        ({"sensitivity": "public"}, "local"),
    ],
)
def test_the_cheapest_that_meets_the_needs_is_taken(needs: dict[str, Any], name: str) -> None:
    assert chosen(needs, DEAR, CHEAP, LOCAL).model.name == name


def test_the_choice_says_why_and_names_the_runners_up() -> None:
    selected = chosen({"reasoning": "low"}, DEAR, CHEAP, LOCAL)

    assert selected.because == "the cheapest that meets the needs"
    assert selected.runners_up == ("dear",)


def test_the_preferred_model_is_taken_where_it_meets_the_needs() -> None:
    assert chosen({}, DEAR, CHEAP, preferred="dear").because == "set as default"
    assert chosen({"reasoning": "high"}, DEAR, CHEAP, preferred="cheap").model is DEAR
    assert chosen({}, DEAR, CHEAP, preferred="gone").model is CHEAP


def test_equal_prices_are_decided_by_name() -> None:
    twins = [msgspec.structs.replace(LOCAL, name=name) for name in ("b", "a", "c")]

    assert chosen({}, *twins).model.name == "a"


def test_a_need_that_nobody_meets_is_told_for_each_model() -> None:
    needs = {"reasoning": "high", "sensitivity": "local", "context_tokens": 150_000}

    assert select([DEAR, LOCAL], needs) == (
        "no model meets what the step needs: "
        "local lacks reasoning high, a window of 150,000 tokens; dear lacks being local"
    )


def test_without_a_provider_the_reason_says_so() -> None:
    assert select([], {}) == "no model meets what the step needs: no provider is loaded"


def test_what_cannot_be_paid_is_passed_over() -> None:
    asked = {"reasoning": "low"}

    selected = select([DEAR, CHEAP], asked, preferred="dear", left=0.01)

    assert isinstance(selected, Selected)
    assert (selected.model, selected.cost) == (CHEAP, 0.008)
    assert selected.rejected == ("dear lacks a price below the $0.0100 that are left ($0.0465)",)
    assert "lacks being free, and there is nothing to spend" in str(
        select([CHEAP], asked, left=-1.0)
    )


def test_a_model_that_takes_no_tools_is_passed_over_where_there_are_some() -> None:
    plain = msgspec.structs.replace(CHEAP, tools=False)

    without = select([DEAR, plain], {}, preferred="cheap")
    selected = select([DEAR, plain], {}, preferred="cheap", tools=True)

    assert isinstance(without, Selected)
    assert without.model == plain
    assert isinstance(selected, Selected)
    assert (selected.model, selected.rejected) == (DEAR, ("cheap lacks tools",))


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (0, "$0"),
        (2.5, "$2.5000"),
        (0.0001, "$0.0001"),
        (0.000012, "$0.000012"),
        (0.00003, "$0.00003"),
        (0.0000001234, "$0.00000012"),
    ],
)
def test_dollars_are_written_out_however_few_they_are(amount: float, told: str) -> None:
    assert dollars(amount) == told


def test_each_class_of_tokens_has_its_price() -> None:
    price = Price(input=3.0, cached_read=0.3, cached_write=3.75, output=15.0)

    assert cost(Usage(input=1_000_000), price) == 3.0
    assert cost(Usage(cached_read=1_000_000, cached_write=2_000_000), price) == 7.8
    assert cost(Usage(output=100_000), price) == 1.5


LEVEL = st.sampled_from([None, *LEVELS])
MODELS = st.lists(
    st.builds(
        ModelDescription,
        name=st.sampled_from("abcdef"),
        window=st.sampled_from([1_000, 100_000]),
        local=st.booleans(),
        reasoning=LEVEL,
        code=LEVEL,
        price=st.builds(Price, input=st.sampled_from([0.0, 1.0, 2.0])),
    ),
    max_size=6,
    unique_by=lambda model: model.name,
)
NEEDS = st.fixed_dictionaries(
    {},
    optional={
        "reasoning": LEVEL,
        "code": LEVEL,
        "sensitivity": st.sampled_from([None, "local", "public"]),
        "context_tokens": st.sampled_from([None, 50_000]),
    },
)


@given(models=MODELS, needs=NEEDS, preferred=st.sampled_from(["", "a", "b"]))
@settings(max_examples=300, deadline=None)
def test_what_is_chosen_meets_the_needs_and_nothing_cheaper_does(
    models: list[ModelDescription], needs: dict[str, Any], preferred: str
) -> None:
    fitting = [model for model in models if isinstance(select([model], needs), Selected)]

    selected = select(models, needs, preferred)

    if not fitting:
        assert isinstance(selected, str)
        return
    assert isinstance(selected, Selected)
    assert selected.model in fitting
    assert {selected.model.name, *selected.runners_up} == {model.name for model in fitting}
    if selected.model.name != preferred:
        assert selected.cost == min(cost(TYPICAL, model.price) for model in fitting)


# The embedded model.

REQUEST = Request(
    step=PromptStep(
        process="answer_from_notes",
        id="answer",
        description="Answer the question from the notes",
        parameters={"question": "When is tea served?"},
    ),
    window=100_000,
    items=(
        Item(
            id="notes",
            section="history",
            kind="notes",
            text="Breakfast is at eight.\nTea is served at four in the garden.\nBring a coat.",
        ),
    ),
)


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture
def provider(blobs: MemoryBlobs) -> ExtractiveProvider:
    return ExtractiveProvider(blobs)


def invoke(prompt: str, max_tokens: int = 1_500) -> ModelInvoke:
    return ModelInvoke(
        execution_id="e1", step_id="s1", model="extractive", prompt=prompt, max_tokens=max_tokens
    )


def test_every_answer_says_that_it_is_extractive_and_cites_what_stands_in_the_prompt(
    provider: ExtractiveProvider, blobs: MemoryBlobs
) -> None:
    prompt = ContextCompiler().compile(REQUEST).text
    digest = blobs.put(prompt.encode())

    (answer,) = provider.invoke(invoke(digest), delivery())

    assert isinstance(answer, ModelResponded)
    assert answer.answer["extractive"]
    assert answer.answer["answered"]
    assert "Tea is served at four in the garden." in answer.answer["text"]
    assert answer.prompt == digest
    assert answer.input_tokens > answer.output_tokens > 0
    assert answer.answer["spans"]
    assert all(span["text"] in prompt for span in answer.answer["spans"])
    assert passages_of(read_text(prompt)).passages


def test_equal_prompts_get_equal_answers(provider: ExtractiveProvider, blobs: MemoryBlobs) -> None:
    digest = blobs.put(ContextCompiler().compile(REQUEST).text.encode())

    first, second = (list(provider.invoke(invoke(digest), delivery(n))) for n in (7, 8))

    assert first == second


@pytest.mark.parametrize("text", ["", "no prompt of the compiler\n", "\0\ufffd" * 99])
def test_a_prompt_without_context_is_answered_with_nothing_made_up(
    text: str, provider: ExtractiveProvider, blobs: MemoryBlobs
) -> None:
    (answer,) = provider.invoke(invoke(blobs.put(text.encode())), delivery())

    assert isinstance(answer, ModelResponded)
    assert not answer.answer["answered"]
    assert not answer.answer["spans"]


def test_a_prompt_that_is_gone_fails_for_good(provider: ExtractiveProvider) -> None:
    (failed,) = provider.invoke(invoke("0" * 64), delivery())

    assert isinstance(failed, ModelFailed)
    assert not failed.retry
    assert "\n" not in failed.error


def test_too_little_room_for_an_answer_fails_for_good(
    provider: ExtractiveProvider, blobs: MemoryBlobs
) -> None:
    digest = blobs.put(ContextCompiler().compile(REQUEST).text.encode())

    (failed,) = provider.invoke(invoke(digest, max_tokens=3), delivery())

    assert isinstance(failed, ModelFailed)
    assert not failed.retry
