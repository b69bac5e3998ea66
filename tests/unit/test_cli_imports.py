"""What a command imports is what it needs: the quick ones pay for no compiler, socket or actor."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.runtime.kernel import Home

IMPORTED = """
import json, sys
from cortex.runtime.cli import main
code = main(json.loads(sys.argv[1]))
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""
# All of ours that `--help` and `--version` may import.
FEW = {
    "cortex.bus",
    "cortex.bus.lazy",
    "cortex.runtime.cli",
    "cortex.runtime.cli.exits",
    "cortex.runtime.cli.main",
    "cortex.runtime.cli.tree",
    "cortex.runtime.kernel",
    "cortex.runtime.kernel.version",
}
ISOLATED = "cortex.runtime.isolation"  # what closes the process to its neighbours
HEAVY = {"asyncio", "numpy", "pykka", "pynng", "rich", "structlog", "tiktoken", "yaml"}


def imported(*args: str) -> tuple[int, set[str]]:
    """Exit code of a command line, and the modules that it imported."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", IMPORTED, json.dumps(args)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, set(modules)


@pytest.mark.parametrize("args", [("--version",), ("--help",)], ids=str)
def test_what_only_shows_a_text_imports_next_to_nothing(args: tuple[str, ...]) -> None:
    code, modules = imported(*args)

    ours = {name for name in modules if name.startswith(("cortex.bus", "cortex.runtime."))}
    assert code == 0
    assert {name for name in ours if not name.startswith(ISOLATED)} <= FEW
    assert modules.isdisjoint(HEAVY | {"msgspec", "sqlite3"})


@pytest.mark.parametrize("args", [("execution", "list"), ("events", "query")], ids=" ".join)
def test_a_list_is_read_without_compilers_sockets_and_actors(
    args: tuple[str, ...], home: Home
) -> None:
    code, modules = imported(*args, "--home", str(home.path))

    assert code == 0
    assert modules.isdisjoint(HEAVY)


def test_a_front_has_no_name_that_it_does_not_say(tmp_path: Path) -> None:
    script = "import cortex.runtime.kernel as kernel; print(hasattr(kernel, 'no_such_name'))"

    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, cwd=tmp_path
    )

    assert done.stdout == "False\n", done.stderr
