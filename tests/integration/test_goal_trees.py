"""A work tree that several executions share: each begins anew from what it found there."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cortex.bus import Event
from cortex.runtime.code.repair import restore_before

from .repair_world import CART, CART_TEST, Bench, done, git, only, repository

FIX = {"path": "cart.py", "old": "        result -= price\n", "new": "        result += price\n"}
OTHER = {**FIX, "new": "        result = result + price\n"}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    checkout = repository(tmp_path / "shop", {"cart.py": CART, "test_cart.py": CART_TEST})
    return Bench(tmp_path, checkout)


def write(bench: Bench, edit: dict[str, str], step_id: str, execution_id: str, at: int) -> Event:
    """What `write_code` says in a child of the execution e1, which works towards a goal."""
    answer: dict[str, Any] = {"text": "", "data": {"summary": "Add up", "edits": [edit]}}
    more = {"answer": answer, "worktree": True, "tree": "e1", "attempt": at}
    event = replace(bench.event("write_code", step_id, {}, **more), execution_id=execution_id)
    return only(bench.write_code.execute(event, bench.delivery(at)))


def text(bench: Bench, name: str) -> str:
    return (bench.worktree / name).read_text()


def test_a_step_that_is_tried_again_begins_from_what_it_found_and_not_from_the_branch(
    bench: Bench,
) -> None:
    done(write(bench, {"path": "first.py", "old": "", "new": "a = 1\n"}, "first", "e2", 1))
    (bench.worktree / "notes.txt").write_text("of the goal")
    (bench.worktree / "test_cart.py").write_text("# changed by the goal\n")

    done(write(bench, FIX, "write", "e2", 1))
    (bench.worktree / "left.o").write_text("by the tests")
    done(write(bench, OTHER, "write", "e2", 2))

    assert OTHER["new"] in text(bench, "cart.py")
    assert text(bench, "notes.txt") == "of the goal"
    assert text(bench, "test_cart.py") == "# changed by the goal\n"
    assert text(bench, "first.py") == "a = 1\n"
    assert not (bench.worktree / "left.o").exists()
    staged = git(bench.worktree, "diff", "--cached", "--name-only")
    assert staged == "cart.py\nfirst.py\n"  # what was written, and not what else changed
    assert not (bench.home.path / "worktrees" / "e2").exists()


def test_a_write_that_ended_and_was_not_recorded_is_done_again_to_the_same_end(
    bench: Bench,
) -> None:
    done(write(bench, FIX, "write", "e2", 1))
    done(write(bench, FIX, "write", "e2", 1))

    assert FIX["new"] in text(bench, "cart.py")


def test_going_back_in_a_child_drops_what_the_child_wrote_last_and_nothing_else(
    bench: Bench,
) -> None:
    done(write(bench, {"path": "first.py", "old": "", "new": "a = 1\n"}, "first", "e2", 1))
    done(write(bench, FIX, "write", "e3", 1))

    restore_before(bench.worktree, "e2", 60.0)
    unmoved = text(bench, "cart.py")
    restore_before(bench.worktree, "e3", 60.0)

    assert FIX["new"] in unmoved
    assert text(bench, "cart.py") == CART
    assert text(bench, "first.py") == "a = 1\n"
