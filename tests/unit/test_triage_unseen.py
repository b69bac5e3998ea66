"""The triage of logs that no rule was tuned on: a change never makes it worse than is recorded."""

import pytest

from cortex.runtime.context import TokenCounter

from ..triage_unseen import Score, load, mean, scores, text_of

LEAST = Score(first=1.0, facts=0.99, told=0.86)  # recorded: benchmarks/results


@pytest.fixture(scope="module")
def measured() -> dict[str, Score]:
    return dict(scores(TokenCounter().count))


def test_the_triage_of_the_unseen_logs_is_no_worse_than_recorded(
    measured: dict[str, Score],
) -> None:
    all_of_them = mean(list(measured.values()))

    assert all_of_them.first >= LEAST.first
    assert all_of_them.facts >= LEAST.facts
    assert all_of_them.told >= LEAST.told


@pytest.mark.parametrize("name", sorted(load()))
def test_the_gold_of_a_log_stands_in_it(name: str) -> None:
    gold, lines = load()[name], text_of(name).split("\n")

    told = [line for first, last in gold.lines for line in lines[first - 1 : last]]

    assert gold.first
    assert gold.facts
    assert 0 < len(told) <= len(lines)
