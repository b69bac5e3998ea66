"""Tests are run where the change stands, in three languages, and read as a CI log is."""

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from cortex.runtime.context import items_of
from cortex.runtime.kernel import Config

from .repair_world import (
    CART,
    CART_TEST,
    FIX,
    WRONG,
    Bench,
    done,
    files_of,
    git,
    refused,
    repository,
)

PYTHON = {"cart.py": CART, "test_cart.py": CART_TEST}
NODE = {
    "package.json": '{"name": "cart", "type": "module"}\n',
    "cart.js": "export const total = (prices) => prices.reduce((a, b) => a - b, 0);\n",
    "cart.test.js": (
        'import assert from "node:assert";\nimport { test } from "node:test";\n'
        'import { total } from "./cart.js";\n\n'
        'test("total adds up", () => {\n  assert.strictEqual(total([1, 2]), 3);\n});\n'
    ),
}
C = {
    "Makefile": "test: cart_test\n\t./cart_test\n\ncart_test: cart.c\n\tgcc -o $@ cart.c\n",
    "cart.c": (
        "#include <stdio.h>\n#include <stdlib.h>\n\n"
        "static int total(const int *prices, int n)\n{\n    int result = 0;\n"
        "    for (int i = 0; i < n; i++)\n        result -= prices[i];\n    return result;\n}\n\n"
        "int main(void)\n{\n    int prices[] = {1, 2};\n    if (total(prices, 2) != 3) {\n"
        '        printf("FAIL: test_total\\nexpected 3\\n");\n        return EXIT_FAILURE;\n    }\n'
        '    printf("ok\\n");\n    return EXIT_SUCCESS;\n}\n'
    ),
}
LANGUAGES = [
    pytest.param(PYTHON, FIX, ["python3"], ["python3", "-m", "unittest", "discover"], id="python"),
    pytest.param(
        NODE,
        {"path": "cart.js", "old": "a - b", "new": "a + b"},
        ["node"],
        ["node", "--test"],
        id="javascript",
    ),
    pytest.param(
        C,
        {"path": "cart.c", "old": "result -= prices", "new": "result += prices"},
        ["make", "gcc"],
        ["make", "test"],
        id="c",
    ),
]


@pytest.mark.parametrize(("files", "fix", "tools", "command"), LANGUAGES)
def test_a_change_turns_the_tests_green_and_leaves_the_checkout_red(
    files: dict[str, str], fix: dict[str, str], tools: list[str], command: list[str], tmp_path: Path
) -> None:
    if missing := [tool for tool in tools if not shutil.which(tool)]:
        pytest.skip(f"{missing[0]} is not installed")
    checkout = repository(tmp_path / "project", files)
    before = files_of(checkout)
    bench = Bench(tmp_path, checkout)
    harmless = {"path": "NOTES", "old": "", "new": "nothing yet\n"}
    done(bench.write(harmless))

    red = done(bench.test(position=8)).result
    done(bench.write(fix))
    green = done(bench.test(position=10)).result

    assert (red["passed"], red["command"]) == (False, command)
    assert red["exit_code"] != 0
    assert any("total" in name for name in red["failed"]), red
    assert (green["passed"], green["exit_code"], green["failed"]) == (True, 0, [])
    assert files_of(checkout) == before
    assert git(checkout, "status", "--porcelain") == ""


def test_a_file_that_is_changed_as_soon_as_it_was_tested_is_tested_as_it_is_now(
    tmp_path: Path,
) -> None:
    checkout = repository(tmp_path / "project", PYTHON)
    bench = Bench(tmp_path, checkout)
    source = checkout / "cart.py"

    red = done(bench.test(position=8)).result
    before = source.stat()
    source.write_text(source.read_text().replace("-=", "+="))
    os.utime(
        source, ns=(before.st_atime_ns, before.st_mtime_ns)
    )  # Python compares seconds and size
    green = done(bench.test(position=10)).result

    assert (red["passed"], green["passed"]) == (False, True)
    assert not list(checkout.rglob("__pycache__"))


def test_without_a_worktree_the_workspace_is_tested(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "project", PYTHON)

    answered = done(Bench(tmp_path, checkout).test())

    assert answered.result["passed"] is False
    assert answered.summary.startswith("red: ")


@pytest.mark.parametrize("must_pass", [True, False])
def test_a_run_without_a_single_test_is_not_green(must_pass: bool, tmp_path: Path) -> None:
    checkout = repository(tmp_path / "project", {"test_cart.py": "import unittest\n"})

    answered = Bench(tmp_path, checkout).test(must_pass=must_pass)

    if must_pass:
        assert refused(answered).kind == "tests_failed"
    else:
        assert done(answered).result["passed"] is False


def test_what_was_committed_is_tested_and_not_what_the_user_has(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "project", PYTHON)
    bench = Bench(tmp_path, checkout)
    done(bench.write(FIX))
    done(bench.commit())

    assert done(bench.test()).result["passed"] is True


def test_the_output_is_kept_and_its_telling_lines_are_offered(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "project", PYTHON)
    bench = Bench(tmp_path, checkout)
    done(bench.write(WRONG))

    result = done(bench.test()).result

    assert b"AssertionError" in bench.blobs.get(result["output"])
    (item,) = items_of("verify", result)
    assert "AssertionError" in item.text
    assert "test_total_adds_up" in item.text
    assert str(bench.home.path) not in item.text


def test_a_red_run_fails_the_step_that_must_pass(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "project", PYTHON)
    bench = Bench(tmp_path, checkout)
    done(bench.write(WRONG))

    failed = refused(bench.test(must_pass=True))

    assert (failed.kind, failed.retry) == ("tests_failed", True)
    assert "test_total_adds_up" in failed.error
    assert "test_cart.py:8" in failed.error
    assert "-2 != 3" in failed.error
    assert str(tmp_path) not in failed.error + failed.excerpt
    assert "AssertionError" in failed.excerpt
    assert "+    result = 1\n" in failed.excerpt


def test_a_command_is_taken_as_it_is_given(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "project", PYTHON)

    result = done(Bench(tmp_path, checkout).test(command="true && false")).result

    assert result["command"] == ["true", "&&", "false"]
    assert result["passed"] is True


def test_a_program_that_config_does_not_allow_is_refused(tmp_path: Path) -> None:
    config = msgspec.convert({"handlers": {"shell": {"allow": ["make"]}}}, Config)
    checkout = repository(tmp_path / "project", PYTHON)

    failed = refused(Bench(tmp_path, checkout, config).test(command=["curl"]))

    assert failed.error.startswith("curl is not among the programs")
    assert not failed.retry


def test_files_that_do_not_say_how_they_are_tested_are_refused(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "project", {"README": "hello\n"})

    failed = refused(Bench(tmp_path, checkout).test())

    assert "do not say how the tests are run: name it" in failed.error
    assert not failed.retry


def test_a_missing_program_is_said(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "project", PYTHON)

    assert "cannot be started" in refused(Bench(tmp_path, checkout).test(command=["no-such"])).error


def test_tests_that_never_end_are_ended(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "project", PYTHON)

    failed = refused(Bench(tmp_path, checkout).test(command=["sleep", "600"], timeout_s=0.3))

    assert failed.kind == "timeout"
    assert "took too long" in failed.error


def test_a_run_that_was_recorded_is_not_run_again(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "project", PYTHON)
    bench = Bench(tmp_path, checkout)
    command = ["sh", "-c", f"echo ran >> '{tmp_path}/runs'"]

    for position in (8, 8, 9):
        done(bench.test(position=position, command=command))

    assert (tmp_path / "runs").read_text() == "ran\nran\n"


def test_an_empty_workspace_is_refused(tmp_path: Path) -> None:
    assert not refused(Bench(tmp_path, tmp_path / "gone").test()).retry
