"""A green result belongs to the files that were tested: whoever changes one, the gate is not green.

The gate is asked after real runs of tests, with writers of every kind between the run and the gate.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortex.actors import gates
from cortex.bus import FORMAT, Draft, Event, Recorded
from cortex.bus.events import VOCABULARY, GateEvaluate, GateEvaluated, StepExecute

from ..integration.repair_world import CART, CART_TEST, FIX, Bench, done, git, repository

GREEN = ["true"]
FILES = {"cart.py": CART, "test_cart.py": CART_TEST, ".gitignore": "*.log\n"}


class Workshop:
    """An execution whose tests were green, and the gate that is asked about them."""

    def __init__(self, folder: Path, *, checkout: bool = True, write: bool = True) -> None:
        self.project = folder / "project"
        if checkout:
            repository(self.project, FILES)
        else:
            self.project.mkdir()
            for name, text in FILES.items():
                (self.project / name).write_text(text)
        self.bench = Bench(self.project, self.project)
        if write:
            done(self.bench.write(FIX))
        self.place = self.bench.worktree if write else self.project
        self.recorded: list[Event] = []

    def test(self, command: list[str] = GREEN) -> None:
        """Run the tests."""
        asked = {"command": command}
        event = StepExecute(
            execution_id="e1", step_id="verify", action="run_tests", parameters=asked
        )
        self.recorded += [event, self.bench.test(command=command)]

    def gate(self) -> GateEvaluated:
        """What the gate says now."""
        gate = gates.TestsPass(self._history, VOCABULARY, self.bench.home)
        asked = GateEvaluate(
            execution_id="e1", gate="tests_pass", step_id="commit", workspace=str(self.project)
        )
        (answer,) = gate.evaluate(asked, self.bench.delivery(20))
        return answer

    def _history(self, stream: str) -> Iterator[Recorded]:
        for n, draft in enumerate(map(Draft.of, self.recorded), 1):
            yield Recorded(
                FORMAT, n, stream, n, n.to_bytes(16, "big"), n, draft.topic, draft.schema,
                None, None, "tests", draft.key, None, draft.body,
            )  # fmt: skip


def edit(place: Path) -> None:
    (place / "cart.py").write_text("total = sum\n")


def edit_without_a_trace(place: Path) -> None:
    """Same size, same time of the last write."""
    path = place / "cart.py"
    before = path.stat()
    path.write_text(path.read_text().replace("=", "-"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def add(place: Path) -> None:
    (place / "conftest.py").write_text("raise SystemExit(0)\n")


def remove(place: Path) -> None:
    (place / "test_cart.py").unlink()


def link(place: Path) -> None:
    (place / "cart.py").unlink()
    (place / "cart.py").symlink_to("test_cart.py")


def make_a_program(place: Path) -> None:
    (place / "cart.py").chmod(0o755)


WRITERS: list[Callable[[Path], None]] = [
    edit,
    edit_without_a_trace,
    add,
    remove,
    link,
    make_a_program,
]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("kind", ["worktree", "checkout", "folder"])
def test_whoever_writes_after_the_tests_makes_them_stale(
    kind: str, write: Callable[[Path], None], tmp_path: Path
) -> None:
    tested = Workshop(tmp_path, checkout=kind != "folder", write=kind == "worktree")
    tested.test()
    before = tested.gate()

    write(tested.place)
    after = tested.gate()

    assert before.outcome == "passed"
    assert after.outcome == "failed"
    assert after.reason == "the code was changed after the tests: run them on what it is now"


def test_tests_that_run_again_make_it_green_again(tmp_path: Path) -> None:
    tested = Workshop(tmp_path)
    tested.test()
    edit(tested.place)
    tested.test()

    assert tested.gate().outcome == "passed"


def test_staging_and_what_git_ignores_make_nothing_stale(tmp_path: Path) -> None:
    tested = Workshop(tmp_path)
    tested.test()
    git(tested.place, "reset", "--quiet")
    (tested.place / "run.log").write_text("said\n")

    assert tested.gate().outcome == "passed"


def test_what_cortex_keeps_makes_nothing_stale(tmp_path: Path) -> None:
    tested = Workshop(tmp_path, write=False)
    tested.test()
    (tested.bench.home.path / "log.db-wal").write_text("more\n")

    assert tested.gate().outcome == "passed"


def test_what_the_tests_leave_behind_makes_nothing_stale(tmp_path: Path) -> None:
    tested = Workshop(tmp_path)
    tested.test(["touch", "coverage.xml"])

    assert tested.gate().outcome == "passed"


def test_code_that_is_written_while_the_tests_run_is_not_green(tmp_path: Path) -> None:
    tested = Workshop(tmp_path)
    tested.test(["sh", "-c", "sleep 0.1; echo >> cart.py"])

    answer = tested.gate()

    assert answer.outcome == "failed"
    assert answer.reason == "cart.py was written while the tests ran: run them again"


def test_a_result_without_a_tree_is_not_green(tmp_path: Path) -> None:
    tested = Workshop(tmp_path)
    tested.test()
    done(tested.recorded[1]).result.pop("tree")

    assert "run them again" in (tested.gate().reason)


def test_a_change_inside_a_submodule_makes_it_stale(tmp_path: Path) -> None:
    tested = Workshop(tmp_path, write=False)
    inner = repository(tested.project / "inner", {"a.py": "a = 1\n"})
    tested.test()
    before = tested.gate()

    (inner / "a.py").write_text("a = 2\n")

    assert (before.outcome, tested.gate().outcome) == ("passed", "failed")
