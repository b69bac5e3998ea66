"""A log made to cost time costs no more looks than its size allows, and what matters is found."""

import importlib
import io
import time
from itertools import count as numbers

import pytest

from cortex.runtime.code.triage import analyse, excerpt, parse_log, read_log, strength, triage

room = triage.__module__.rpartition(".")[0]
flood_part, names_part, tally_part = (
    importlib.import_module(f"{room}.{part}") for part in ("findings", "names", "reader")
)
keep_part = importlib.import_module(f"{room}.keep")
RULES = (
    *importlib.import_module(f"{room}.rules_tests").TEST_RULES,
    *importlib.import_module(f"{room}.rules_builds").BUILD_RULES,
)
FAILURE = "FAILED tests/test_ring.py::test_wraps - assert 7 == 3\n"


def word(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number, 26)
        letters += chr(97 + rest)
    return letters


def flood(pattern: str, lines: int) -> str:
    return "".join(pattern.format(w=word(n)) + "\n" for n in range(1, lines + 1))


@pytest.mark.parametrize(
    "pattern",
    ["cannot {w} whether it is so", "error: {w} is broken", "  1) {w} and so on", "panic: {w}"],
)
def test_the_failure_at_the_end_of_a_flood_is_found(pattern: str) -> None:
    log = parse_log(flood(pattern, 32_000) + FAILURE)

    report = triage(log)

    assert "tests/test_ring.py::test_wraps" in [finding.title for finding in report.findings]


def test_a_rule_that_spoke_thousands_of_times_leaves_room_for_the_others() -> None:
    log = parse_log(flood("FAILED tests/test_{w}.py::test_{w}", 20_000) + "Killed\n" + FAILURE)

    analysis = analyse(log)

    heard = [failure.hit.rule.framework for failure in analysis.failures]
    assert 4_000 <= heard.count("pytest") < 7_000
    assert "killed" in heard


def test_what_is_known_to_be_one_of_many_is_held_back_and_an_alarm_is_not() -> None:
    held = flood_part.Flood()
    for _ in range(30_000):
        held.saw(None)

    assert held.is_over(1.0)
    assert not held.is_over(3.0)


def test_equal_lines_are_judged_once_when_a_log_is_halved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keeper = keep_part.BoundedLines(max_lines=1_000)
    heard: list[str] = []
    hear = keeper._loudness.hear

    def listening(text: str, times: int = 1, *, closely: bool = False) -> tuple[float, str]:
        heard.append(text)
        heard_as: tuple[float, str] = hear(text, times, closely=closely)
        return heard_as

    monkeypatch.setattr(keeper._loudness, "hear", listening)

    keeper.add(1, ["error: x"] * 100_000)

    assert heard == ["error: x"]
    assert len(keeper.texts) <= 1_000
    assert keeper._loudness.counts.count("error: x") == 100_000


def test_names_are_looked_up_and_not_searched() -> None:
    names = names_part.Names()
    compared = numbers()

    class Part(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            next(compared)
            return str.__eq__(self, other) if isinstance(other, str) else False

        __hash__ = str.__hash__

    for n in range(2_000):
        assert names.file((Part(f"C{n}"), Part("test")), n) is None

    assert next(compared) < 40_000


@pytest.mark.parametrize("order", [1, -1])
def test_a_name_and_its_fuller_form_are_of_one_test_in_either_order(order: int) -> None:
    names = names_part.Names()
    first, second = [("test_a",), ("mod", "Case", "test_a")][::order]

    assert names.file(first, "it") is None
    assert names.file(second, "again") == "it"
    assert names.file(("other", "test_a"), "another") is None


def test_a_name_of_thousands_of_parts_is_known_by_its_last_ones() -> None:
    assert len(names_part.identity("a::" * 5_000 + "b")) < 50
    assert names_part.identity("a::" * 5_000 + "b")[-1] == "b"


def test_the_tokens_of_a_huge_log_are_estimated_from_samples() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text) // 4

    tally = tally_part.TokenTally(count)
    for _ in range(40):
        tally.add("x" * 1_000_000)

    assert sum(counted) <= tally_part.EXACT_CHARS + 5_000_000
    assert tally.tokens == 10_000_000


def test_the_tokens_of_a_usual_log_are_exact() -> None:
    log = read_log(io.BytesIO(b"ab cd\n" * 1_000), count=len)

    assert log.tokens == 6_000


def test_of_lines_that_do_not_fit_a_bounded_number_is_counted() -> None:
    asked = numbers()

    def count(text: str) -> int:
        next(asked)
        return 5 if text == "…" or not text else 1_000

    log = parse_log(flood("error: the {w} is broken", 8_000))

    shown = excerpt(log, 50, count)

    assert shown.texts == ()
    assert next(asked) < 3_000


def test_around_many_failures_a_bounded_number_of_lines_is_looked_at() -> None:
    section = "______ test_{w} ______\n" + "    a line of it\n" * 60
    log = parse_log(flood(section, 1_500))

    analysis = analyse(log)

    told = sum(block.looked for failure in analysis.failures for block in failure.blocks)
    assert len(analysis.failures) == 1_500
    assert told <= 42_000


PIECES = (" ", ".", "a", "a.", "a::", "_ ", "> ", "-", "/", "(", " 0", "1 ", "\t", " [")


@pytest.mark.parametrize("piece", PIECES)
def test_no_rule_looks_far_beyond_the_length_of_a_line(piece: str) -> None:
    # No clock: a rule that backtracks without end would not come back to this line.
    line = piece * 4_000
    beginnings = (
        "FAILED ",
        "FAIL a.b > ",
        "==> X",
        "XPASS: ",
        "FAIL!  : a",
        "FAILED Tests\\a > ",
        "",
    )

    for beginning in beginnings:
        for each in RULES:
            each.fits(f"{beginning}{line} error failed: FAILED\x01")

    assert strength(line) >= 0.0


def test_go_prints_the_reason_before_the_verdict() -> None:
    report = triage(
        parse_log(
            "=== RUN   TestOk\n--- PASS: TestOk (0.00s)\n=== RUN   TestA\n=== RUN   TestA/x\n"
            "    a_test.go:5: no rows in result set\n--- FAIL: TestA (0.00s)\n"
            "    --- FAIL: TestA/x (0.00s)\nFAIL\n"
        )
    )

    found = next(finding for finding in report.findings if finding.title == "TestA/x")

    assert found.message == "a_test.go:5: no rows in result set"
    assert [(part.first, part.role) for part in found.evidence] == [(5, "message"), (7, "title")]


def test_go_tests_that_ran_beside_each_other_keep_their_own_reasons() -> None:
    report = triage(
        parse_log(
            "=== RUN   TestA\n=== PAUSE TestA\n=== RUN   TestB\n=== PAUSE TestB\n=== CONT  TestA\n"
            "=== CONT  TestB\n    b_test.go:9: b is wrong\n=== NAME  TestA\n"
            "    a_test.go:4: a is wrong\n--- FAIL: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n"
        )
    )

    told = {finding.title: finding.message for finding in report.findings}

    assert told["TestA"] == "a_test.go:4: a is wrong"
    assert told["TestB"] == "b_test.go:9: b is wrong"


def test_what_nests_very_deep_is_read_in_a_moment() -> None:
    """Of a line that begins with hundreds of spaces each was a beginning that was tried."""
    lines = ("not ok 1 - t{}", "  ---", "  error: |-", "    bad:")
    log = "".join("  " * n + line.format(n) + "\n" for n in range(750) for line in lines)

    began_s = time.process_time()
    report = triage(parse_log(log))

    assert time.process_time() - began_s < 4
    assert report.findings[0].title == "t0"
