"""What a git that was killed left in a work tree of ours stops nobody; what is the user's stays."""

import subprocess
import sys
from pathlib import Path

import pytest

from cortex.runtime.code.programs import run_program, unused
from cortex.runtime.code.repair import find_worktree

from .repair_world import CART, CART_TEST, FIX, Bench, done, git, repository
from .test_goal_trees import OTHER, text, write


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    checkout = repository(tmp_path / "shop", {"cart.py": CART, "test_cart.py": CART_TEST})
    return Bench(tmp_path, checkout)


def own_folder(bench: Bench) -> Path:
    """Where git keeps what is the work tree's alone."""
    return Path(git(bench.worktree, "rev-parse", "--absolute-git-dir").strip())


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "ORIG_HEAD.lock"])
def test_a_lock_that_a_killed_git_left_does_not_stop_work_towards_a_goal(
    bench: Bench, name: str
) -> None:
    done(write(bench, {"path": "first.py", "old": "", "new": "a = 1\n"}, "first", "e2", 1))
    (own_folder(bench) / name).write_bytes(b"")

    done(write(bench, FIX, "write", "e3", 1))

    assert FIX["new"] in text(bench, "cart.py")
    assert text(bench, "first.py") == "a = 1\n"  # the tree is the same, and nothing in it is lost


def test_a_git_that_was_killed_while_it_held_the_index_does_not_stop_the_next_step(
    bench: Bench,
) -> None:
    done(write(bench, FIX, "write", "e2", 1))
    hook = bench.workspace / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    # A whole group dies, git and its hook, as with a kill of everything that a user runs.
    hook.write_text("#!/bin/sh\nkill -9 0\n")
    hook.chmod(0o755)
    run_program(("git", "commit", "--all", "--message=x"), str(bench.worktree), 60.0)
    hook.unlink()
    left = (own_folder(bench) / "index.lock").exists()

    done(write(bench, OTHER, "write", "e2", 2))
    committed = done(bench.commit())

    assert left
    assert committed.result["branch"] == "cortex/e1"


def test_a_lock_in_the_users_own_checkout_is_left_alone(bench: Bench) -> None:
    own = bench.workspace / ".git/index.lock"
    own.write_bytes(b"the user's")

    done(write(bench, FIX, "write", "e2", 1))
    done(write(bench, OTHER, "write", "e2", 2))

    assert own.read_bytes() == b"the user's"


def test_a_work_tree_that_names_the_users_checkout_as_its_own_frees_nothing_there(
    bench: Bench,
) -> None:
    done(write(bench, FIX, "write", "e2", 1))
    own = bench.workspace / ".git/index.lock"
    own.write_bytes(b"the user's")
    (bench.worktree / ".git").write_text(f"gitdir: {bench.workspace / '.git'}\n")

    find_worktree(bench.worktree, 60.0)

    assert own.read_bytes() == b"the user's"


def test_a_lock_stays_while_a_program_of_ours_is_at_work_in_the_tree(bench: Bench) -> None:
    done(write(bench, FIX, "write", "e2", 1))
    lock = own_folder(bench) / "index.lock"
    # As a commit of a runtime that is gone: it works in the tree, and outlives whoever started it.
    holder = (
        "import subprocess, sys; from pathlib import Path\n"
        "from cortex.runtime.code.programs.output import start\n"
        "say = 'import sys, time; print(1, flush=True); sys.stdin.read()'\n"
        "program = start((sys.executable, '-c', say), sys.argv[1], {}, stdin=subprocess.PIPE)\n"
        "program.stdout.read(1)\n"
        "print(program.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", holder, str(bench.worktree)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdout.readline()
    lock.write_bytes(b"")

    with unused(bench.worktree, 0.0) as alone:
        pass
    running.communicate(b"", timeout=60)
    with unused(bench.worktree, 60.0) as alone_afterwards:
        pass
    lock_before = lock.exists()
    find_worktree(bench.worktree, 60.0)

    assert not alone
    assert alone_afterwards
    assert lock_before
    assert not lock.exists()


def test_a_work_tree_that_git_was_killed_while_making_is_made_again(bench: Bench) -> None:
    done(write(bench, FIX, "write", "e2", 1))
    own = own_folder(bench)
    (own / "locked").write_text("initializing")
    (own / "index.lock").write_bytes(b"")
    (bench.worktree / "test_cart.py").unlink()  # not written yet when it was killed

    done(write(bench, OTHER, "write", "e2", 2))

    assert text(bench, "test_cart.py") == CART_TEST
    assert OTHER["new"] in text(bench, "cart.py")
