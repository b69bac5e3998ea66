"""The triage of logs that no rule was tuned on: a change never makes it worse than is recorded."""

from pathlib import Path

import pytest

from cortex.runtime.context import TokenCounter

from ..triage_unseen import FIRST, SECOND, Score, load, mean, scores, text_of

LEAST = {  # recorded: benchmarks/results
    FIRST: Score(first=1.0, facts=0.99, told=0.86),
    SECOND: Score(first=0.96, facts=0.96, told=0.85),
}
LOGS = [(drawn, name) for drawn in LEAST for name in sorted(load(drawn))]


@pytest.mark.parametrize("drawn", LEAST, ids=lambda drawn: drawn.name)
def test_the_triage_of_the_unseen_logs_is_no_worse_than_recorded(drawn: Path) -> None:
    measured = mean([each for _, each in scores(drawn, TokenCounter().count)])

    assert measured.first >= LEAST[drawn].first
    assert measured.facts >= LEAST[drawn].facts
    assert measured.told >= LEAST[drawn].told


@pytest.mark.parametrize(("drawn", "name"), LOGS, ids=[name for _, name in LOGS])
def test_the_gold_of_a_log_stands_in_it(drawn: Path, name: str) -> None:
    gold, lines = load(drawn)[name], text_of(drawn, name).split("\n")

    told = [line for first, last in gold.lines for line in lines[first - 1 : last]]

    assert gold.first
    assert gold.facts
    assert 0 < len(told) <= len(lines)
