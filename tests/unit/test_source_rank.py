"""The lines of a checkout that a failure points at, over logs of nine languages."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.code.source import Checkout, Location, find_relevant_code

CHECKOUTS = Path(__file__).parents[1] / "fixtures" / "checkouts"
LANGUAGES = sorted(path.stem for path in CHECKOUTS.glob("*.yaml"))
CASES = 124
EXAMPLES = Path(__file__).parents[2] / "examples"


@cache
def _checkout(language: str) -> Checkout:
    return Checkout(CHECKOUTS / language)


@cache
def _cases(language: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load((CHECKOUTS / f"{language}.yaml").read_text(encoding="utf-8")))


def _first(language: str, case: dict[str, Any]) -> Location | None:
    found = find_relevant_code(case["log"], _checkout(language))
    return found[0] if found else None


def test_no_case_was_dropped() -> None:
    assert sum(len(_cases(language)) for language in LANGUAGES) >= CASES


# All of these were right once, and some rules were found on them: what is wrong now has become so.
# They say nothing about how good the ranking is on failures that nobody has seen.
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_right_file_and_line_still_come_first(language: str) -> None:
    missed: list[str] = []
    for case in _cases(language):
        best = _first(language, case)
        if best is None or (best.path, best.line) != (case["path"], case["line"]):
            missed.append(f"{case['name']}: {best and (best.path, best.line)}")

    assert not missed


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_location_can_be_shown(language: str) -> None:
    for case in _cases(language):
        for location in find_relevant_code(case["log"], _checkout(language)):
            (marked,) = [row for row in location.snippet.splitlines() if row.startswith(">")]
            line = _checkout(language).read_lines(location.path)[location.line - 1]
            assert marked == f"> {marked[2:].split(' | ')[0]} | {line}"
            assert 1 <= location.log_line <= len(case["log"].splitlines())
            assert location.why


def test_the_best_place_has_a_symbol_and_a_reason() -> None:
    log = (
        "Traceback (most recent call last):\n"
        '  File "/srv/src/shop/pricing/rules.py", line 16, in rate_of\n'
        "    return RATES[country]\n"
        "KeyError: 'AT'\n"
    )

    best = find_relevant_code(log, _checkout("python"))[0]

    assert best.symbol == "rate_of"
    assert best.why == "where it was raised in this project: KeyError: 'AT'"
    assert best.log_line == 2


def test_a_test_s_name_alone_points_at_its_definition() -> None:
    log = "FAILED tests/test_cart.py::test_total_abroad - KeyError: 'IT'"

    best = find_relevant_code(log, _checkout("python"))[0]

    assert best.path == "tests/test_cart.py"
    assert best.symbol == "test_total_abroad"


def test_an_assertion_also_points_at_the_code_under_test() -> None:
    log = (
        "    def test_rounding():\n"
        '>       assert full_cart("FR").total() == 1921\n'
        "E       AssertionError: assert 1920.0 == 1921\n"
        "\n"
        "tests/test_cart.py:24: AssertionError\n"
    )

    found = find_relevant_code(log, _checkout("python"))

    assert (found[0].path, found[0].line) == ("tests/test_cart.py", 24)
    assert ("src/shop/cart.py", "total") in {(each.path, each.symbol) for each in found}


def test_a_text_without_places_points_nowhere() -> None:
    assert find_relevant_code("the network was down\nretrying", _checkout("python")) == []


def test_no_more_than_the_limit_is_given() -> None:
    log = "\n".join(f"src/shop/cart.py:{line}: error: oh no" for line in range(1, 40))

    assert len(find_relevant_code(log, _checkout("python"), limit=3)) == 3


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([c["log"] for la in LANGUAGES for c in _cases(la)]), max_size=3))
def test_whatever_is_named_lies_in_the_checkout(logs: list[str]) -> None:
    checkout = _checkout("go")

    found = find_relevant_code("\n".join(logs), checkout)

    assert all(each.path in checkout.files for each in found)
    assert all(1 <= each.line <= len(checkout.read_lines(each.path)) for each in found)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not beside the tests")
def test_the_example_s_real_failure_is_found() -> None:
    log = (EXAMPLES / "tomlkit-ci-failure.log").read_text(encoding="utf-8")

    found = find_relevant_code(log, Checkout(EXAMPLES / "tomlkit-0.11.8"))

    assert (found[0].path, found[0].line, found[0].symbol) == ("tomlkit/items.py", 1031, "replace")
    assert (found[1].path, found[1].line) == ("tests/test_items.py", 687)


PRICING_TEST = """\
import pytest
from pricing import price


class TestPrice:
    @pytest.mark.parametrize("amount", [1])
    def test_rounding(self, amount):
        def inner():
            return 1

        text = \'\'\'
at the margin
\'\'\'
        if amount:
            assert price(amount, "x") == (1, 2)


price(3)
"""


@pytest.mark.parametrize(
    ("line", "symbol"),
    [(15, "test_rounding"), (14, "test_rounding"), (9, "inner"), (6, "test_rounding"), (18, "")],
)
def test_the_symbol_is_the_function_around_the_line_not_the_one_called_there(
    line: int, symbol: str, tmp_path: Path
) -> None:
    (tmp_path / "test_pricing.py").write_text(PRICING_TEST)
    log = f"test_pricing.py:{line}: in price\nE   ValueError: bad"

    best = find_relevant_code(log, Checkout(tmp_path))[0]

    assert (best.line, best.symbol) == (line, symbol)


def test_a_call_in_an_assertion_defines_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_pricing.py").write_text(PRICING_TEST)

    assert find_relevant_code("TypeError: price() missing 1 argument", Checkout(tmp_path)) == []


def test_what_only_warns_is_left_out_where_something_failed(tmp_path: Path) -> None:
    (tmp_path / "test_pricing.py").write_text(PRICING_TEST)
    warning = "  test_pricing.py:9: DeprecationWarning: utcnow() is deprecated"
    failure = "test_pricing.py:15: ValueError"

    both = find_relevant_code([failure, warning], Checkout(tmp_path))
    alone = find_relevant_code([warning], Checkout(tmp_path))

    assert [place.line for place in both] == [15]
    assert [place.line for place in alone] == [9]
