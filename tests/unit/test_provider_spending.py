"""What is spent only grows, whatever a provider tells."""

from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus.events import ExecutionCharged
from cortex.runtime.executions import Execution, evolve, tokens_of
from cortex.runtime.models import Usage

COUNTS = st.integers(-(2**40), 2**40)
CLASSES = ("input", "cached_read", "cached_write", "output")


@settings(deadline=None, max_examples=200)
@given(st.lists(st.fixed_dictionaries(dict.fromkeys(CLASSES, COUNTS)), max_size=4))
def test_no_usage_takes_back_what_was_spent(told: list[dict[str, int]]) -> None:
    state = Execution(execution_id="e")

    for number, usage in enumerate(told):
        event = ExecutionCharged(execution_id="e", child="c", tokens=0, total=0, usage=usage)
        before, state = state, evolve(state, event, number, own=True)
        assert tokens_of(state.usage) >= tokens_of(before.usage) >= 0

    assert state.usage.output == sum(max(0, usage["output"]) for usage in told)


def test_a_count_below_nothing_takes_nothing_from_the_others() -> None:
    assert tokens_of(Usage(input=500, output=-1_000_000)) == 500
