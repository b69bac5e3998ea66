"""The report names what failed, says why and proves it with line numbers, whatever wrote it."""

# ruff: noqa: E501, RUF001  # a table, with the very marks that tools print

from pathlib import Path

import pytest

from cortex.runtime.code.triage import Finding, Report, parse_log, read_log, triage

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def report(name: str) -> Report:
    return triage(read_log(LOGS / f"{name}.log"))


# (log, kind, what the title says, what the message says, a reference), one row a failure
EXPECTED = [
    ("ansible", "error", "FAILED! =>", "", ""),
    ("automake", "failing_test", "opens", "", ""),
    ("asan", "crash", "heap-buffer-overflow on address", "", "/builds/codec/src/varint.c:27"),
    ("bazel", "failing_test", "//store/btree:split_test", "", ""),
    ("cargo_test", "failing_test", "balance::tests::sums_to_zero", "book is off", "src/balance.rs:77"),
    ("cargo_test", "failing_test", "balance::tests::rounding", "called `Result::unwrap()`", "src/balance.rs:91"),
    ("ctest", "failing_test", "ring_wraps", "front is 7, not 3", ""),
    ("ctest", "failing_test", "ring_aborts", "Assertion `k != 2' failed", "/builds/ring/t.c:4"),
    ("ctest_verbose", "failing_test", "ring_wraps", "front is 7, not 3", ""),
    ("ctest_verbose", "failing_test", "ring_aborts", "Assertion `k != 2' failed", "/builds/ring/t.c:4"),
    ("docker_build", "error", "No matching distribution found for leftpadder==9.1", "", ""),
    ("dotnet", "failing_test", "Billing.Tests.InvoiceTests.Total_includes_tax(rate: 19)",
     "Actual:   100", "/src/Billing.Tests/InvoiceTests.cs:33"),
    ("dotnet_build", "compile_error", "error CS1061", "", "/src/Billing/Ledger.cs:42"),
    ("exunit", "failing_test", "test refuses an empty basket (Shop.CheckoutTest)",
     "Assertion with == failed", "test/shop/checkout_test.exs:21"),
    ("gcc", "compile_error", "ring.c:2:44: error: expected", "", "ring.c:2"),
    ("gcc", "compile_error", "unused variable", "", "ring.c:2"),
    ("gcc", "compile_error", "expects argument of type", "", "ring.c:3"),
    ("gcc", "compile_error", "undeclared (first use in this function)", "", "ring.c:3"),
    ("gcc_werror", "compile_error", "ok.c:1:20: error: unused variable", "", "ok.c:1"),
    ("gcc_link", "compile_error", "'FRAME_MAX' undeclared", "", "/builds/codec/src/frame.c:118"),
    ("gcc_link", "compile_error", "undefined reference to `ring_new'", "", "/builds/codec/tools/probe.c:33"),
    ("go_panic", "failing_test", "TestPop", "panic: runtime error: index out of range [-1]", "/builds/stack/stack.go:2"),
    ("go_main", "crash", "panic: assignment to entry in nil map", "", "/builds/load/main.go:2"),
    ("go_test", "failing_test", "TestDrain/keeps_order", "want [1 2 3]", "drain_test.go:57"),
    ("go_test", "crash", "nil pointer dereference", "", "/builds/queue/store/bolt.go:88"),
    ("gradle_javac", "compile_error", "Till.java:2: error: cannot find symbol", "clsoe", "/builds/till/src/main/java/Till.java:2"),
    ("gradle_javac", "compile_error", "int cannot be converted to String", "", "/builds/till/src/main/java/Till.java:3"),
    ("gtest_ctest", "failing_test", "ring_test", "***Failed", ""),
    ("gtest_ctest", "failing_test", "Ring.WrapsAround", "Which is: 7", "/builds/codec/tests/ring_test.cc:48"),
    ("gtest_ctest", "failing_test", "fuzz_smoke", "SegFault", ""),
    ("java_trace", "error", "java.lang.IllegalStateException: no ledger at x.db", "", "Boom.java:1"),
    ("jest", "failing_test", "basket › sums prices", "Expected: 4", "basket.test.js:2"),
    ("jest", "failing_test", "./bad.test.js", "SyntaxError", "bad.test.js:1"),
    ("junit_prefixed", "failing_test", "CartTest:addsUp()", "expected: <3> but was: <4>", "CartTest.java:17"),
    ("junit_prefixed", "failing_test", "CartTest:opensTheTill()", "the till is locked", "Till.java:31"),
    ("lit_automake", "failing_test", "Front :: parse/attr-error.c", "", ""),
    ("lit_automake", "failing_test", "tests/unlink-race.sh", "", ""),
    ("maven", "failing_test", "org.example.pay.LedgerTest.roundsHalfUp", "expected: <10.01>", "LedgerTest.java:64"),
    ("maven", "failing_test", "org.example.pay.LedgerTest.closesTheBook", "NullPointer", "Ledger.java:112"),
    ("maven_reactor", "compile_error", "Basket.java:[14,22] cannot find symbol", "priceOf(shop.Item)",
     "/builds/shop/web/src/main/java/shop/web/Basket.java:14"),
    ("mocha", "failing_test", "Ring wraps around", "7 !== 3", "t.js:2"),
    ("mocha", "failing_test", "Ring when full refuses", "undefinedThing is not defined", "t.js:2"),
    ("minitest", "failing_test", "OrdersControllerTest#test_should_create_order", "didn't change by 1",
     "test/controllers/orders_controller_test.rb:27"),
    ("minitest", "failing_test", "MailerTest#test_welcome_mail", "NoMethodError", "app/mailers/welcome_mailer.rb:9"),
    ("node_spec", "failing_test", "keeps the total", "7 !== 3", "/builds/cart/cart.test.js:5"),
    ("node_spec", "failing_test", "are rounded down", "rate is not a number", "/builds/cart/cart.test.js:6"),
    ("node_spec", "failing_test", "reads prices", "strictly deep-equal", "/builds/cart/cart.test.js:8"),
    ("node_tap", "failing_test", "keeps the total", "Expected values to be strictly equal", "/builds/cart/cart.test.js:5"),
    ("node_tap", "failing_test", "are rounded down", "rate is not a number", "/builds/cart/cart.test.js:6"),
    ("node_tap", "failing_test", "reads prices", "strictly deep-equal", "/builds/cart/cart.test.js:8"),
    ("oom_killed", "crash", "Killed", "", "/builds/run.sh:12"),
    ("phpunit", "failing_test", "CouponTest::testExpiredCouponIsRefused", "must be of type",
     "/builds/shop/cart/src/Cart/Coupon.php:31"),
    ("phpunit", "failing_test", "BasketTest::testTotal with data set", "4 matches expected 3",
     "/builds/shop/cart/tests/Cart/BasketTest.php:73"),
    ("playwright", "failing_test", "basket › keeps items after a reload", "Timed out 5000ms",
     "/builds/web/basket.spec.ts:22"),
    ("prove", "failing_test", "'counts rows'", "expected: '3'", "t/db.t:3"),
    ("pytest_conftest", "compile_error", "ModuleNotFoundError: No module named 'ledgr'", "", ""),
    ("python_crash", "error", "plan.PlanError: stage 'prod' has no owner", "", "/srv/deploy/plan.py:29"),
    ("rspec", "failing_test", "Invoice#total adds the tax of every line", "got: #<Money", "./app/models/invoice.rb:42"),
    ("rspec", "failing_test", "Checkout when the card is declined keeps the basket", "PaymentError", "./lib/checkout.rb:17"),
    ("rspec_reason", "failing_test", "Invoice when empty is free", "no lines", "./spec/invoice_spec.rb:7"),
    ("rustc", "compile_error", "error[E0308]: mismatched types", "expected `usize`", "src/report.rs:31"),
    ("rustc", "compile_error", "error[E0425]", "not found in this scope", "src/main.rs:9"),
    ("scalatest", "failing_test", "should refuse a trailing comma", "was not equal to", "ParserSpec.scala:31"),
    ("shell", "error", "jq: command not found", "", "./scripts/publish.sh:9"),
    ("tap", "failing_test", "should throw", "", "/builds/wire/test/version.js:14"),
    ("timeout", "timeout", "maximum execution time", "", ""),
    ("tsc_eslint", "compile_error", "error TS2322", "", "src/app/error-page.ts:12"),
    ("tsc_eslint", "compile_error", "error TS2339", "", "src/app/menu.tsx:48"),
    ("tsc_eslint", "lint", "menu.tsx 9:5", "", ""),
    ("unittest", "failing_test", "test_names (test_sum.SumTest.test_names)", "KeyError: 'name'", "/builds/sums/test_sum.py:8"),
    ("unittest", "failing_test", "test_cents (test_sum.SumTest.test_cents)", "AssertionError: 3 != 4", "/builds/sums/test_sum.py:5"),
    ("unittest_verbose", "failing_test", "test_names (test_sum.SumTest.test_names)", "KeyError: 'name'", "/builds/sums/test_sum.py:8"),
    ("unittest_verbose", "failing_test", "test_cents (test_sum.SumTest.test_cents)", "AssertionError: 3 != 4", "/builds/sums/test_sum.py:5"),
    ("unknown_tool", "error", 'the pot "large" is missing', "", "kitchen/pots.list:12"),
    ("upload", "error", "unknown key 'currencey'", "", ""),
    ("vitest", "failing_test", "src/date.test.ts > formatDate > uses the user's time zone",
     "to be '2024-03-02'", "src/date.test.ts:27"),
    ("xctest", "failing_test", "-[KitTests.ParserTests testNesting]", "XCTAssertEqual failed",
     "/Users/runner/work/Kit/Tests/KitTests/ParserTests.swift:52"),
]  # fmt: skip


@pytest.mark.parametrize(("log", "kind", "title", "message", "place"), EXPECTED)
def test_a_failure_is_named_first_with_its_reason_and_place(
    log: str, kind: str, title: str, message: str, place: str
) -> None:
    first = report(log).findings[:4]

    found = next(f for f in first if title in f.title)

    assert found.kind == kind
    assert message in found.message
    assert place in [*(f"{ref.path}:{ref.line}" for ref in found.references), ""]


VERBOSE = """\
test_eq (test_u.T.test_eq) ... FAIL
test_xf (test_u.T.test_xf) ... expected failure
test_div (test_u.T.test_div) ... ERROR
It is skipped here. ... skipped 'no server'
setUpClass (test_u.S) ... ERROR
test_out (test_u.T.test_out) ... printed by the test
ok

======================================================================
ERROR: test_div (test_u.T.test_div)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/u/test_u.py", line 12, in test_div
    1/0
ZeroDivisionError: division by zero

======================================================================
ERROR: setUpClass (test_u.S)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/u/test_u.py", line 20, in setUpClass
    raise RuntimeError("no server")
RuntimeError: no server

======================================================================
FAIL: test_eq (test_u.T.test_eq)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/u/test_u.py", line 8, in test_eq
    self.assertEqual({'a': 1}, {'a': 2})
AssertionError: {'a': 1} != {'a': 2}

----------------------------------------------------------------------
Ran 5 tests in 0.002s

FAILED (failures=1, errors=2, skipped=1, expected failures=1)
"""
PANIC = """\
running 1 test
test tests::adds ... FAILED

failures:

---- tests::adds stdout ----

thread 'tests::adds' (21184) panicked at src/lib.rs:3:63:
assertion `left == right` failed: sum wrong
  left: 3
 right: 4
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
"""


def test_how_another_test_went_is_no_reason_of_a_verbose_unittest() -> None:
    found = {finding.title: finding.reason() for finding in triage(parse_log(VERBOSE)).findings}

    assert found["test_eq (test_u.T.test_eq)"] == "AssertionError: {'a': 1} != {'a': 2}"
    assert found["test_div (test_u.T.test_div)"] == "ZeroDivisionError: division by zero"
    assert found["setUpClass (test_u.S)"] == "RuntimeError: no server"


def test_the_reason_of_a_panic_is_what_it_says_and_not_where_it_was() -> None:
    first = triage(parse_log(PANIC)).findings[0]

    assert first.reason() == "assertion `left == right` failed: sum wrong"
    assert [(each.path, each.line) for each in first.references] == [("src/lib.rs", 3)]


def test_a_reason_that_ends_in_a_colon_has_the_line_that_follows() -> None:
    first = next(f for f in report("node_tap").findings if "keeps the total" in f.title)

    assert first.message.startswith("Expected values to be strictly equal:")
    assert first.reason() == "Expected values to be strictly equal: 7 !== 3"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (["could not load:", "", "no such file"], "could not load: no such file"),
        (["should hold:", "  more"], "should hold: more"),
        (["could not load:"], "could not load:"),
        (["did not match /x/. Input:", "", "'abc'", ""], "did not match /x/. Input: 'abc'"),
    ],
)
def test_the_reason_of_a_tap_verdict_goes_on_behind_its_colon(said: list[str], reason: str) -> None:
    body = ["failureType: 'testCodeFailure'", "error: |-", *(f"  {line}" for line in said)]
    body += ["code: 'ERR_TEST_FAILURE'", "stack: |-", "  Test.run (node:internal/x:1:2)"]
    log = ["TAP version 13", "# Subtest: loads", "not ok 1 - loads", "  ---"]
    log += [*(f"  {line}" for line in body), "  ...", "1..1", "# fail 1", ""]

    assert triage(parse_log("\n".join(log))).findings[0].reason() == reason


@pytest.mark.parametrize("log", sorted({row[0] for row in EXPECTED}))
def test_all_that_failed_ranks_above_what_only_sounds_like_it(log: str) -> None:
    titles = [row[2] for row in EXPECTED if row[0] == log]

    leading = report(log).findings[: len(titles) + 1]

    assert all(any(title in f.title for f in leading) for title in titles)


@pytest.mark.parametrize("path", sorted(LOGS.glob("*.log")), ids=lambda path: path.stem)
def test_every_cited_line_is_in_the_original_at_that_number(path: Path) -> None:
    original = path.read_text(encoding="utf-8").split("\n")

    for finding in triage(read_log(path)).findings:
        for part in finding.evidence:
            cited = original[part.first - 1 : part.last]
            assert [line.rstrip() for line in cited] == part.text.split("\n")


@pytest.mark.parametrize(
    ("log", "command"),
    [
        ("rspec", "bundle exec rspec"),
        ("go_test", "go test ./..."),
        ("docker_build", "/bin/sh -c pip install -r requirements.txt"),
        ("timeout", "make integration"),
        ("shell", "jq -r .name package.json"),
        ("gtest_ctest", "ctest --output-on-failure"),
    ],
)
def test_the_command_that_failed_is_named(log: str, command: str) -> None:
    assert report(log).failed_command == command


def test_a_test_told_twice_is_one_finding_under_its_fullest_name() -> None:
    log = parse_log(
        "____ TestRing.test_wraps ____\n\nE   AssertionError: 7\n\ntests/test_ring.py:4: AssertionError\n"
        "==== short test summary info ====\nFAILED tests/test_ring.py::TestRing::test_wraps - Asse...\n"
    )

    tests = [f for f in triage(log).findings if f.kind == "failing_test"]

    assert [f.title for f in tests] == ["tests/test_ring.py::TestRing::test_wraps"]
    assert tests[0].seen == 2


def test_a_mocha_name_over_several_lines_is_joined() -> None:
    log = parse_log(
        "  1 failing\n\n  1) Basket\n       when empty\n         costs nothing:\n     Error: 1\n"
    )

    assert triage(log).findings[0].title == "Basket when empty costs nothing"


def test_a_name_of_several_lines_is_the_same_test_as_its_short_form_in_the_list() -> None:
    log = parse_log(
        "  Basket\n    1) costs nothing\n\n\n  1 failing\n\n"
        "  1) Basket\n       costs nothing:\n     Error: 1\n"
    )

    assert [f.title for f in triage(log).findings] == ["Basket costs nothing"]


def test_a_verdict_on_the_line_after_the_name_is_seen() -> None:
    log = parse_log(
        "    [junit] Testcase: testOk took 0.1 sec\n    [junit] Testcase: testNext took 1.4 sec\n"
        "    [junit] \tCaused an ERROR\n    [junit] java.lang.IllegalStateException: no\n"
    )

    assert [f.title for f in triage(log).findings] == ["testNext"]


def test_a_qualified_name_before_the_verdict_is_a_test_and_a_total_is_none() -> None:
    log = parse_log("org.example.Ring.wraps FAILED\n    boom\n\nResults: FAILURE (9 tests)\n")

    tests = [f.title for f in triage(log).findings if f.kind == "failing_test"]

    assert tests == ["org.example.Ring.wraps"]


def test_a_log_in_which_nothing_failed_gives_no_findings() -> None:
    said = triage(parse_log("compiling\n12 passed, 0 failed\nerrors: 0\n"))

    assert said.findings == ()
    assert "3 lines" in said.summary


def test_a_report_says_the_same_twice() -> None:
    def again() -> list[Finding]:
        return list(report("maven").findings)

    assert again() == again()


def test_a_reason_that_the_short_summary_cuts_is_told_in_full() -> None:
    log = parse_log(
        """\
=================================== FAILURES ===================================
_______________________________ test_split_rates _______________________________

    def test_split_rates():
>       name, rate = split("a=1=2")
E       ValueError: not enough values to unpack (expected 2, got 1)

tests/test_rates.py:6: ValueError
=========================== short test summary info ============================
FAILED tests/test_rates.py::test_split_rates - ValueError: not enough values to unpack (expected 2,...
============================== 1 failed in 0.05s ===============================
"""
    )

    told = triage(log)

    full = "ValueError: not enough values to unpack (expected 2, got 1)"
    assert told.findings[0].message.splitlines()[0] == full
    assert full in told.summary
    assert "..." not in told.summary


@pytest.mark.parametrize(
    ("log", "tests"),
    [
        ("node_tap", ["keeps the total", "are rounded down", "reads prices"]),
        ("node_spec", ["keeps the total", "are rounded down", "reads prices"]),
        (
            "unittest_verbose",
            [
                "test_cents (test_sum.SumTest.test_cents)",
                "test_names (test_sum.SumTest.test_names)",
            ],
        ),
        ("junit_prefixed", ["CartTest:addsUp()", "CartTest:opensTheTill()"]),
        ("go_panic", ["TestPop"]),
        ("automake", ["opens"]),
        ("maven_reactor", []),
    ],
)
def test_what_a_runner_prints_about_tests_is_no_further_test(log: str, tests: list[str]) -> None:
    found = [f.title for f in report(log).findings if f.kind == "failing_test"]

    assert found == tests


@pytest.mark.parametrize("log", ["go_panic", "go_main", "java_trace", "gcc", "gcc_werror"])
def test_a_reason_is_never_a_frame_nor_a_line_of_source(log: str) -> None:
    said = [f.message.splitlines()[0] for f in report(log).findings if f.message]

    assert not any(s.startswith(("at ", "goroutine", "main.", "...")) or " | " in s for s in said)


def test_a_panic_is_told_as_the_reason_of_the_test_that_it_ended() -> None:
    test, *others = report("go_panic").findings

    assert test.message == "panic: runtime error: index out of range [-1] [recovered]"
    assert "crash" not in [finding.kind for finding in others]


def test_two_suites_that_fail_to_run_are_two_findings_named_by_their_files() -> None:
    each = "FAIL {0}.test.js\n  ● Test suite failed to run\n\n    SyntaxError: {0}.js: Unexpected token\n\n"
    log = parse_log(each.format("cart") + each.format("till"))

    tests = [f.title for f in triage(log).findings if f.kind == "failing_test"]

    assert tests == ["cart.test.js", "till.test.js"]


def test_an_exit_code_of_zero_is_no_finding() -> None:
    first = report("exit_code_zero").findings[0]

    assert "the book is locked" in first.title
    assert not any(
        f.title.endswith(("Code: 0", "code 0")) for f in report("exit_code_zero").findings
    )


def test_an_upload_that_failed_ranks_below_the_reason_for_there_being_nothing_to_upload() -> None:
    titles = [finding.title for finding in report("upload").findings]

    assert "unknown key" in titles[0]


@pytest.mark.parametrize("text", ["", "\n", "\n  \n\t\n"])
def test_a_log_without_a_word_is_reported_as_empty(text: str) -> None:
    said = triage(parse_log(text))

    assert said.findings == ()
    assert "empty" in said.summary


def test_the_result_of_a_triage_that_found_nothing_is_no_failure_itself() -> None:
    log = parse_log('{\n  "failed_command": "",\n  "findings": [],\n  "lines": 0\n}\n')

    assert triage(log).findings == ()


def test_the_place_that_nodes_list_names_above_a_test_belongs_to_it() -> None:
    log = parse_log(
        "✖ counts calls (2.1ms)\n  'plan expected 4 assertions but received 8'\n\n"
        "✖ failing tests:\n\ntest at test/calls.test.js:7:1\n✖ counts calls (2.1ms)\n"
        "  'plan expected 4 assertions but received 8'\n"
    )

    (found,) = triage(log).findings

    assert [(ref.path, ref.line) for ref in found.references] == [("test/calls.test.js", 7)]


def test_of_several_compile_errors_the_first_is_first_whatever_else_the_last_one_says() -> None:
    where = "/builds/shop/Till.java"
    log = parse_log(
        f"[ERROR] {where}:[8,5] enum constant not expected here\n[ERROR] {where}:[8,16] illegal start\n"
        f"[ERROR] {where}:[9,42] ';' expected\n[INFO] 3 errors \n[INFO] BUILD FAILURE\n"
    )

    assert triage(log).findings[0].title == f"{where}:[8,5] enum constant not expected here"


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("AssertionError: -3 != 3", "-3 != 3. Failed command: "),
        ("Error: it ended.", "ended. Failed"),
    ],
)
def test_the_failed_command_begins_a_sentence_of_its_own(reason: str, told: str) -> None:
    log = f"FAILED tests/test_cart.py::test_total - {reason}\n1 failed in 0.1s\nmake: *** [test] Error 1\n"

    assert told in triage(parse_log(log)).summary
