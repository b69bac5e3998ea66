"""Which model a step gets, whatever models there are: what holds for every choice."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.models import ModelDescription, Price, Selected, Usage, cost, select

LEVEL = st.sampled_from([None, "low", "medium", "high"])
DOLLARS = st.sampled_from([0.0, 0.1, 3.0, 15.0])
MODELS = st.lists(
    st.builds(
        ModelDescription,
        name=st.sampled_from("abcd"),  # namesakes, as two components may announce
        window=st.sampled_from([1_000, 100_000]),
        local=st.booleans(),
        reasoning=LEVEL,
        code=LEVEL,
        speed=LEVEL,
        price=st.builds(Price, input=DOLLARS, cached_read=DOLLARS, output=DOLLARS),
    ),
    max_size=6,
)
NEEDS = st.fixed_dictionaries(
    {},
    optional={
        "reasoning": LEVEL,
        "code": LEVEL,
        "speed": LEVEL,
        "context_tokens": st.sampled_from([None, 50_000]),
        "sensitivity": st.sampled_from([None, "internal", "public"]),
    },
)
USAGE = st.builds(Usage, input=st.integers(0, 100_000), output=st.integers(0, 9_000))
LEFT = st.one_of(st.none(), st.sampled_from([-1.0, 0.0, 0.01, 5.0]))


@given(models=MODELS, needs=NEEDS, preferred=st.sampled_from("abcd-"), left=LEFT, call=USAGE)
@settings(max_examples=500, deadline=None)
def test_local_needs_never_get_a_remote_model(
    models: list[ModelDescription],
    needs: dict[str, Any],
    preferred: str,
    left: float | None,
    call: Usage,
) -> None:
    local = {**needs, "sensitivity": "local"}

    selected = select(models, local, preferred, left=left, call=call)

    if isinstance(selected, Selected):
        assert selected.model.local
        offered = {m.name for m in models if m.local}
        assert set(selected.runners_up) <= offered


@given(models=MODELS, needs=NEEDS, preferred=st.sampled_from("abcd-"), left=LEFT, call=USAGE)
@settings(max_examples=300, deadline=None)
def test_what_is_chosen_can_be_paid_and_every_other_model_is_accounted_for(
    models: list[ModelDescription],
    needs: dict[str, Any],
    preferred: str,
    left: float | None,
    call: Usage,
) -> None:
    selected = select(models, needs, preferred, left=left, call=call)

    if isinstance(selected, str):
        assert selected.startswith("no model meets what the step needs: ")
        return
    assert selected.cost == cost(call, selected.model.price)
    assert left is None or selected.cost <= max(left, 0.0)
    assert 1 + len(selected.runners_up) + len(selected.rejected) == len(models)


@given(
    models=st.permutations(
        [
            ModelDescription(name=n, window=9, local=True, price=Price(input=p))
            for n, p in (("a", 2.0), ("b", 1.0), ("c", 1.0))
        ]
    )
)
@settings(max_examples=20, deadline=None)
def test_the_order_of_announcements_decides_nothing(models: list[ModelDescription]) -> None:
    selected = select(models, {})

    assert isinstance(selected, Selected)
    assert (selected.model.name, selected.runners_up) == ("b", ("c", "a"))


def test_a_namesake_does_not_lend_what_another_model_lacks() -> None:
    remote = ModelDescription(name="twin", window=9, local=False)
    local = ModelDescription(name="twin", window=9, local=True, price=Price(input=1.0))

    selected = select([local, remote], {"sensitivity": "local"}, preferred="twin")

    assert isinstance(selected, Selected)
    assert selected.model is local
