"""The catalogue of known models: complete, dated, and never guessing a price."""

import datetime
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.models import KnownModel, catalogue

CATALOGUE = catalogue()


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("claude-opus-5", "claude-opus-5"),
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("gpt-5-2025-08-07", "gpt-5"),
    ],
)
def test_a_snapshot_is_known_by_the_longest_id_it_starts_with(model: str, found: str) -> None:
    provider = "anthropic" if model.startswith("claude") else "openai"

    known = CATALOGUE.find(provider, model)

    assert known is not None
    assert known.model == found


@pytest.mark.parametrize("model", ["gpt-5-pro", "gpt-5.9", "gpt-5x", "claude-opus-5-9", "", "g"])
def test_a_variant_of_a_known_model_is_another_model(model: str) -> None:
    assert CATALOGUE.find("openai", model) is None
    assert CATALOGUE.find("anthropic", model) is None


def test_models_are_known_by_provider() -> None:
    assert CATALOGUE.find("mine", "gpt-5") is None


@pytest.mark.parametrize("known", CATALOGUE.models, ids=lambda known: known.model)
def test_every_model_has_its_price_window_levels_and_source(known: KnownModel) -> None:
    price = known.price

    assert 0 < price.cached_read < price.input <= price.cached_write < price.output
    assert known.window >= 100_000
    assert None not in (known.reasoning, known.code, known.speed)
    assert known.seen in ("vendor", "reported")
    assert CATALOGUE.vendor(known.provider) is not None


def test_no_model_stands_there_twice_and_the_date_is_one_that_was() -> None:
    ids = [(known.provider, known.model) for known in CATALOGUE.models]

    assert len(set(ids)) == len(ids)
    assert datetime.date(2026, 11, 1) <= CATALOGUE.looked_up <= datetime.date.today()


@given(
    pair=st.sampled_from(
        list(itertools.product(["openai", "anthropic"], [k.model for k in CATALOGUE.models]))
    ),
    rest=st.text("0123456789-.@prolatesmi", max_size=12),
)
@settings(max_examples=300, deadline=None)
def test_what_is_found_is_a_prefix_of_what_was_asked(pair: tuple[str, str], rest: str) -> None:
    provider, model = pair

    known = CATALOGUE.find(provider, model + rest)

    if known is not None:
        assert (model + rest).startswith(known.model)
        assert known.provider == provider
        after = [k.model for k in CATALOGUE.models if k.provider == provider]
        assert not any((model + rest) == other and other != known.model for other in after)


def test_a_cache_is_known_by_the_longest_id_else_as_its_vendor_keeps_prefixes() -> None:
    known = catalogue()

    assert known.caching("anthropic", "claude-haiku-4-5-20251001").minimum_tokens == 4_096
    assert known.caching("anthropic", "claude-of-tomorrow").minimum_tokens == 1_024
    assert known.caching("openai", "gpt-5").breakpoints == 0
    assert not known.caching("nobody", "gpt-5").keeps
