"""The condensed log holds what matters most, in order, and never more tokens than allowed."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.code.triage import (
    GAP,
    STRENGTH_MAX,
    TemplateCounts,
    condense,
    parse_log,
    read_log,
    strength,
    template,
    triage,
)

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"
NOISE = "\n".join(f"tests/test_{n}.py::test_error_{n} PASSED" for n in range(5_000))


def words(text: str) -> int:
    return len(text.split()) + text.count("\n")


@pytest.mark.parametrize("path", sorted(LOGS.glob("*.log")), ids=lambda path: path.stem)
@pytest.mark.parametrize("budget", [0, 5, 40, 200])
def test_the_budget_always_holds_and_lines_stay_in_order(path: Path, budget: int) -> None:
    log = read_log(path)

    view = condense(log, budget, words)

    assert words(view) <= budget
    rest = iter(log.texts)
    assert all(line in rest for line in view.split("\n") if line not in ("", GAP))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=800), st.integers(0, 120))
def test_no_text_breaks_the_budget(text: str, budget: int) -> None:
    assert len(condense(parse_log(text), budget, len)) <= budget


def test_the_failure_is_found_in_a_log_full_of_noise() -> None:
    told = (LOGS / "cargo_test.log").read_text(encoding="utf-8")
    log = parse_log(f"{NOISE}\n{told}\n{NOISE}")

    view = condense(log, 90, words)

    assert "test balance::tests::sums_to_zero ... FAILED" in view
    assert "test balance::tests::rounding ... FAILED" in view
    assert "book is off" in view


def test_all_names_come_before_the_details_of_the_many() -> None:
    blocks = (
        f"____ test_number_{n} ____\n" + "\n".join(f"    line {k} of {n}" for k in range(30))
        + f"\nE   ValueError: no {n}\n"
        for n in range(20)
    )  # fmt: skip

    view = condense(parse_log(NOISE + "\n" + "".join(blocks)), 220, words)

    assert all(f"test_number_{n} " in view for n in range(20))


def test_the_same_line_is_shown_once() -> None:
    view = condense(parse_log("Error: disk full\nfine\n" * 50), 100, words)

    assert view.count("Error: disk full") == 1


def test_where_lines_are_missing_a_mark_stands() -> None:
    log = parse_log("Error: first\n" + "quiet\n" * 400 + "Error: last\n")

    assert condense(log, 12, words).split("\n")[:3] == ["Error: first", GAP, "Error: last"]


@pytest.mark.parametrize(
    ("loud", "quiet"),
    [
        ("FAILED tests/test_a.py::test_b", "tests/test_a.py::test_error PASSED"),
        ("error: cannot find 'x'", "12 tests, 0 errors, 0 failures"),
        ("E   assert 1 == 2", "warning: unused variable `error`"),
        ("Segmentation fault (core dumped)", "-Werror -Wall frame.c"),
        ("npm ERR! missing script: build", "Unpacking libgpg-error0 (1.38-2)"),
    ],
)
def test_a_failure_is_louder_than_what_only_sounds_like_one(loud: str, quiet: str) -> None:
    assert STRENGTH_MAX >= strength(loud) > strength(quiet)


def test_a_shape_is_a_line_without_its_numbers() -> None:
    assert template("retry 3 of 0xdeadbeef at 1a2b3c4d5e") == "retry # of # at #"


def test_a_shape_is_rarer_the_less_it_was_seen() -> None:
    counts = TemplateCounts(["retry 1", "retry 2", "retry 3", "boom"])

    assert counts.rarity("boom") == 1.0 > counts.rarity("retry 9") > 0.0


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=" ._-:>|()[]/#\\0aEF", max_size=2_000))
def test_hostile_lines_take_no_time(line: str) -> None:
    assert triage(parse_log(f"{line}\nFAIL: {line}\n{line} FAILED")).lines >= 1


def test_what_belongs_to_no_failure_takes_three_tenths_even_where_room_is_left() -> None:
    told = (LOGS / "unittest.log").read_text(encoding="utf-8")
    noise = "\n".join(
        f"warning: cannot find the icon of theme {'abcdefghij'[n]}" for n in range(10)
    )
    log = parse_log(f"{noise}\n{told}\n{noise}")

    shown = condense(log, 1_000, words).split("\n")

    cited = {
        line
        for finding in triage(log).findings
        for part in finding.evidence
        for line in part.text.split("\n")
    }
    beside = [line for line in shown if line != GAP and line.strip() and line not in cited]
    assert sum(map(words, beside)) <= 0.35 * words("\n".join(shown))


def test_a_log_that_names_no_failure_is_shown_as_far_as_the_budget_goes() -> None:
    log = parse_log("\n".join(f"copied part {n}" for n in range(40)))

    shown = condense(log, 60, words)

    assert words(shown) > 40


def test_the_first_reason_and_the_total_are_kept_among_the_names_of_hundreds() -> None:
    each = (
        "not ok {0} - wraps ring number {0}\n  ---\n  location: '/builds/ring/ring.test.js:{0}:1'\n"
        "  error: 'the ring is closed'\n  stack: |-\n"
        "    Ring.push (/builds/ring/ring.js:9:3)\n  ...\n"
    )
    log = parse_log("".join(each.format(n) for n in range(1, 301)) + "# tests 300\n# fail 300\n")

    view = condense(log, 400, words)

    assert "error: 'the ring is closed'" in view
    assert "/builds/ring/ring.js:9:3" in view


def test_how_many_failed_is_kept_though_all_their_names_do_not_fit() -> None:
    names = "".join(f"FAILED tests/test_ring.py::test_wraps_{n} - assert 1\n" for n in range(400))
    log = parse_log(f"{names}400 failed, 12 passed in 3.1s\n")

    assert "400 failed, 12 passed" in condense(log, 300, words)


def test_the_place_and_the_source_that_python_prints_above_a_syntax_error_are_kept() -> None:
    log = parse_log(
        "ImportError while loading conftest '/builds/book/conftest.py'.\n"
        'E     File "/builds/book/ledger.py", line 12\n'
        "E       return (debit, credit\n"
        "E              ^\n"
        "E   SyntaxError: '(' was never closed\n" + "setting up the next job\n" * 50
    )

    view = condense(log, 60, words)

    assert '"/builds/book/ledger.py", line 12' in view
    assert "return (debit, credit" in view


def test_the_nearest_frame_is_kept_where_it_stands_last() -> None:
    frames = "".join(f'  File "/builds/book/part_{n}.py", line {n}, in part\n' for n in range(1, 9))
    names = "".join(f"FAIL: test_{n} (test_book.Book.test_{n})\n" for n in range(300))
    log = parse_log(
        f"{'=' * 70}\nERROR: test_opens (test_book.Book.test_opens)\n{'-' * 70}\n"
        f"Traceback (most recent call last):\n{frames}ImportError: no ledger\n\n{names}"
    )

    assert "part_8.py" in condense(log, 200, words)
