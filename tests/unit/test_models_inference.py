"""What a step asks of a model without saying so, and which model it gets for that."""

from typing import Any

import pytest

from cortex.runtime.models import (
    ModelDescription,
    Price,
    Selected,
    WorkProfile,
    infer,
    select,
    window_for,
)
from cortex.runtime.registry import stated

STAND_IN = ModelDescription(name="extractive", window=200_000, local=True, stand_in=True)
WEAK = ModelDescription(
    name="weak", window=100_000, local=False, reasoning="low", code="low", price=Price(input=1)
)
GOOD = ModelDescription(
    name="good", window=200_000, local=False, reasoning="medium", code="high", price=Price(input=3)
)
BEST = ModelDescription(
    name="best", window=200_000, local=False, reasoning="high", code="high", price=Price(input=9)
)
ALL = (STAND_IN, WEAK, GOOD, BEST)
FILE = {"type": "object", "properties": {"path": {"type": "string"}}}
EDITS = {
    "type": "object",
    "properties": {"edits": {"type": "array", "items": {"$ref": "#/$defs/File"}}},
    "$defs": {"File": FILE},
}


def chosen(*models: ModelDescription, needs: Any = None, **more: Any) -> Selected:
    selected = select(models, needs or {}, **more)
    assert isinstance(selected, Selected), selected
    return selected


@pytest.mark.parametrize(
    ("work", "needs"),
    [
        (WorkProfile(action="a"), {"reasoning": "low"}),
        (WorkProfile(action="a", tools=True), {"reasoning": "medium"}),
        (WorkProfile(action="a", changes=True), {"reasoning": "medium"}),
        (WorkProfile(action="a", answer=FILE), {"reasoning": "low"}),
        (WorkProfile(action="a", answer=EDITS), {"reasoning": "medium"}),
        (WorkProfile(action="a", states={"code": "high"}), {"reasoning": "low", "code": "high"}),
        (WorkProfile(action="a", states={"reasoning": "high"}, tools=True), {"reasoning": "high"}),
        (WorkProfile(action="a", time_s=10), {"reasoning": "low", "speed": "high"}),
        (WorkProfile(action="a", time_s=60), {"reasoning": "low", "speed": "medium"}),
        (WorkProfile(action="a", time_s=600), {"reasoning": "low"}),
        (WorkProfile(action="a", local=("read",)), {"reasoning": "low", "sensitivity": "local"}),
    ],
)
def test_needs_are_inferred_from_the_work(work: WorkProfile, needs: dict[str, Any]) -> None:
    found = infer(work, {})

    assert found.needs == needs
    assert found.reasons.keys() == needs.keys()
    assert all(found.reasons.values())


def test_what_a_step_says_overrides_what_is_inferred() -> None:
    work = WorkProfile(action="a", tools=True, time_s=10, local=("read",))

    found = infer(work, {"reasoning": "low", "sensitivity": "internal"})

    assert found.needs == {"speed": "high"}


def test_what_an_announcement_states_is_taken_as_far_as_it_is_a_level() -> None:
    assert stated({"code": "high", "reasoning": 7, "model": "gpt"}) == {"code": "high"}
    assert stated("high") == {}
    assert stated(None) == {}


def test_material_that_does_not_fit_into_a_small_window_wants_a_larger_one() -> None:
    assert window_for(500, {}) == 0
    assert window_for(20_000, {}) == 50_000
    assert window_for(20_000, {"context_tokens": 4_000}) == 0


def test_with_models_configured_the_stand_in_answers_no_step_that_asks_nothing() -> None:
    selected = chosen(*ALL, inferred=infer(WorkProfile(action="answer"), {}).needs)

    assert selected.model is WEAK
    assert "extractive" not in (*selected.runners_up, *selected.better)


@pytest.mark.parametrize(
    ("inferred", "model"),
    [
        ({"reasoning": "low"}, WEAK),
        ({"reasoning": "medium"}, GOOD),
        ({"reasoning": "high", "code": "high"}, BEST),
        ({"context_tokens": 150_000}, GOOD),
    ],
)
def test_the_cheapest_that_meets_what_was_inferred_is_taken(
    inferred: dict[str, Any], model: ModelDescription
) -> None:
    selected = chosen(*ALL, inferred=inferred)

    assert selected.model is model
    assert selected.because == "the cheapest that meets the needs"
    assert all(reason.endswith("(inferred)") for reason in selected.rejected)


def test_where_no_model_meets_what_was_inferred_the_nearest_is_asked_and_says_so() -> None:
    selected = chosen(STAND_IN, WEAK, GOOD, inferred={"reasoning": "high", "code": "high"})

    assert selected.model is GOOD
    assert selected.because == "the nearest to what was inferred: it lacks reasoning high"


def test_what_a_step_says_is_never_given_up() -> None:
    assert isinstance(select([STAND_IN, WEAK], {"reasoning": "high"}), str)
    assert isinstance(select([STAND_IN, WEAK], {"sensitivity": "local"}), str)


def test_the_stand_in_answers_where_nothing_else_is_configured() -> None:
    selected = chosen(STAND_IN, inferred={"reasoning": "medium"})

    assert selected.model is STAND_IN
    assert "no model is asked" in selected.because


def test_the_stand_in_answers_where_it_is_asked_for_by_name() -> None:
    selected = chosen(*ALL, preferred="extractive", inferred={"reasoning": "high"})

    assert selected.model is STAND_IN
    assert "no model is asked" in selected.because


def test_a_step_for_which_quotations_will_do_gets_them_only_where_no_model_fits() -> None:
    needs = {"sensitivity": "local", "extractive": True}
    at_home = ModelDescription(name="at_home", window=9_000, local=True)

    assert chosen(*ALL, needs=needs).model is STAND_IN
    assert chosen(*ALL, at_home, needs=needs, inferred={"reasoning": "high"}).model is at_home


def test_a_default_of_unknown_levels_is_taken_at_its_users_word() -> None:
    own = ModelDescription(name="own", window=200_000, local=True)

    assert chosen(*ALL, own, preferred="own", inferred={"reasoning": "high"}).model is own
    assert chosen(*ALL, preferred="weak", inferred={"reasoning": "high"}).model is BEST


def test_an_answer_that_did_not_fit_goes_to_the_next_better_model() -> None:
    first = chosen(*ALL)
    second = chosen(*ALL, unfit=("weak",))
    third = chosen(*ALL, unfit=("weak", "good"))
    last = chosen(*ALL, preferred="best", unfit=("weak", "good", "best"))

    assert (first.model, first.better) == (WEAK, ("good", "best"))
    assert (second.model, second.better) == (GOOD, ("best",))
    assert second.because == ("the answer of weak did not fit, and this is the next better model")
    assert (third.model, third.better) == (BEST, ())
    assert last.model is BEST
    assert (first.runners_up, second.runners_up) == (("good", "best"), ("best",))
    assert (third.runners_up, last.runners_up) == ((), ())


def test_a_better_model_that_cannot_be_paid_is_none() -> None:
    # A call of the usual size takes $0.008 of weak, $0.024 of good and $0.072 of best.
    selected = chosen(*ALL, left=0.03)

    assert selected.better == ("good",)
    assert chosen(*ALL, left=0.01).better == ()
