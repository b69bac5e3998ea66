"""What a command imports is what it needs: the quick ones pay for no compiler, socket or actor."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.bus.events import ExecutionRequest
from cortex.runtime.kernel import Home, Runtime, built_in, load

STARTED_IN_FULL = True  # it is about what happens between `exec` and the first import

pytestmark = pytest.mark.wheel  # it starts what the wheel installs

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
CORTEX = Path(sys.executable).with_name("cortex")
ISOLATED = "cortex.runtime.isolation"  # what closes the process to its neighbours
HEAVY = {"asyncio", "numpy", "pykka", "pynng", "rich", "structlog", "tiktoken", "yaml"}
SPAWNED = [each.component for each in built_in() if load(each.component).cpu]


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


@pytest.mark.parametrize(
    "args", [("status",), ("trace",), ("process", "list"), ("model", "list")], ids=" ".join
)
def test_what_draws_is_imported_for_terminals_alone(args: tuple[str, ...], tmp_path: Path) -> None:
    home = begun(tmp_path / "home", 1)

    code, modules = imported(*args, "--home", str(home.path))

    assert code in (0, 3)  # no hub is up
    assert "rich" not in modules


def test_an_execution_needs_no_arrays_and_no_tool_for_tables(tmp_path: Path) -> None:
    code, modules = imported(
        "run", "--goal", "Look at this", "--home", str(Home.create(tmp_path / "home").path)
    )

    assert code == 5  # it waits for a person: no model is configured
    assert modules.isdisjoint({"numpy", "sqlite_utils"})
    # On a busy machine a component may be left behind: a warning, for which structlog imports it.
    assert "rich" not in modules or "structlog" in modules


def test_a_list_of_executions_costs_no_more_among_a_thousand_than_among_a_few(
    tmp_path: Path,
) -> None:
    few, many = begun(tmp_path / "few", 20), begun(tmp_path / "many", 1_000)

    rounds = [(used_s(few), used_s(many)) for _ in range(3)]

    least_few, least_many = (min(each) for each in zip(*rounds, strict=True))
    assert least_many < 1.5 * least_few
    assert least_many < 1.0  # a guard against an import at the top; alone it takes 0.2 s


def begun(folder: Path, count: int) -> Home:
    """A home in which *count* executions were begun."""
    home = Home.create(folder)
    with Runtime(home) as runtime:
        client = runtime.client("owner")
        feed, started = client.follow(("execution.started", None)), 0
        for n in range(count):
            client.publish(ExecutionRequest(execution_id=f"e{n}", goal="Look at this"))
        while started < count:
            started += len(feed.next(60.0))
    return home


def used_s(home: Home) -> float:
    """Seconds of the processor for a list, which others on the machine do not add to."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(
        [CORTEX, "execution", "list", "--json", "--home", str(home.path)],
        capture_output=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert len(json.loads(out)) == 20
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_list_of_executions_imports_nothing_that_changes_one(home: Home) -> None:
    _, modules = imported("execution", "list", "--home", str(home.path))

    changing = {"cortex.runtime.cli.commands.execution_change", "cortex.runtime.sessions.steering"}
    assert modules.isdisjoint({*changing, "cortex.bus.wire.client.connecting"})


def test_a_front_has_no_name_that_it_does_not_say(tmp_path: Path) -> None:
    script = "import cortex.runtime.kernel as kernel; print(hasattr(kernel, 'no_such_name'))"

    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, cwd=tmp_path
    )

    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize("component", SPAWNED)
def test_a_component_that_is_spawned_imports_no_actors_sockets_nor_logs(component: str) -> None:
    assert imported_by_child(component).isdisjoint({"pykka", "pynng", "rich", "structlog"})


def test_a_component_imports_nothing_for_its_neighbours() -> None:
    assert imported_by_child("cortex.actors.handlers:Shell").isdisjoint(HEAVY)


def imported_by_child(component: str) -> set[str]:
    """The modules that a process imports to serve *component*."""
    script = """
import sys
from cortex.runtime.kernel.components.manifest import load
from cortex.runtime.kernel.hosts.spawned_child import main
load(sys.argv[1])
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, component],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return set(done.stdout.split())
