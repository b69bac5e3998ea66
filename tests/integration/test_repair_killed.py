"""A runtime that is killed between the commit and its record makes one commit only."""

import signal
import subprocess
import sys
from pathlib import Path

from .repair_world import CART, CART_TEST, files_of, git, repository

CHILD = Path(__file__).with_name("repair_child.py")


def test_a_runtime_killed_by_the_commit_itself_commits_once(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "shop", {"cart.py": CART, "test_cart.py": CART_TEST})
    before = files_of(checkout)
    # git runs this when the commit is there, while the handler waits for it.
    hook = checkout / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nkill -9 $(cat '{tmp_path}/pid')\n")
    hook.chmod(0o755)

    killed = start(tmp_path, checkout)
    (tmp_path / "pid").write_text(str(killed.pid))
    killed.communicate(timeout=120)
    hook.unlink()
    git(checkout, "log", "-1", "cortex/e1")
    again = start(tmp_path, checkout)
    said, complaints = again.communicate(timeout=120)

    assert killed.returncode == -signal.SIGKILL
    assert said == "execution.completed\n", complaints
    assert git(checkout, "log", "--format=%s", "main..cortex/e1") == "Add up\n"
    assert files_of(checkout) == before
    assert not (tmp_path / "home/worktrees/e1").exists()


def start(folder: Path, checkout: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CHILD), str(folder / "home"), str(checkout)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
