"""`cortex run fix_ci_failure`, as a user types it: models stand in config.toml and nowhere else."""

import shutil
import signal
from pathlib import Path

import pytest

from ..integration.repair_world import git
from .repair_world import (
    PYTHON,
    SERVERS,
    SHOPS,
    User,
    assert_green,
    checkout_of,
    diagnosis,
    model,
    patch,
    print_of,
    use,
)

RUN = ("run", "fix_ci_failure", "-i", "log=../ci.log", "--goal", "make main green")
# Kills the runtime when the commit is there, while whoever asked for it waits.
GIT = """\
#!/bin/sh
'{git}' "$@"
ended=$?
for word in "$@"; do
    [ "$word" = commit ] && [ -f '{pid}' ] && kill -9 "$(cat '{pid}')"
done
exit $ended
"""


@pytest.mark.parametrize(("shape", "language"), [("openai", "c"), ("anthropic", "javascript")])
def test_one_command_takes_a_red_checkout_to_a_green_branch(
    shape: str, language: str, tmp_path: Path
) -> None:
    shop = SHOPS[language]
    user = User(checkout_of(shop, tmp_path))
    before = print_of(user.checkout)
    with SERVERS[shape](diagnosis(), patch(shop.fix)) as server:
        use(user.home, model("scripted", server))
        done = user.json(*RUN)

    assert done["status"] == "completed"
    assert_green(shop, user.checkout, done["outputs"]["branch"], tmp_path)
    assert print_of(user.checkout) == before
    assert {context["model"] for context in done["contexts"]} == {"scripted"}


def test_a_change_that_stays_wrong_ends_with_1_and_is_repaired_by_a_resume_from_a_step(
    tmp_path: Path,
) -> None:
    user = User(checkout_of(PYTHON, tmp_path))
    before = print_of(user.checkout)
    with SERVERS["openai"](diagnosis(), *[patch(PYTHON.wrong)] * 3, patch(PYTHON.fix)) as server:
        use(user.home, model("scripted", server))
        halted = user.json(*RUN, code=1)
        asked = len(server.asked)
        done = user.json("execution", "resume", halted["id"], "--from", "implement_fix")

    assert halted["status"] == "halted"
    assert "test_total_adds_up" in halted["reason"]
    assert (done["id"], done["status"]) == (halted["id"], "completed")
    assert_green(PYTHON, user.checkout, done["outputs"]["branch"], tmp_path)
    assert print_of(user.checkout) == before
    assert "Attempt 3 of verify failed (tests_failed)" in server.asked[asked].raw.decode()


def test_a_runtime_killed_between_the_commit_and_its_record_commits_once(tmp_path: Path) -> None:
    user = User(checkout_of(PYTHON, tmp_path))
    before = print_of(user.checkout)
    pid, folder = tmp_path / "pid", tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(GIT.format(git=shutil.which("git"), pid=pid))
    (folder / "git").chmod(0o755)
    user.env["PATH"] = f"{folder}:{user.env['PATH']}"
    with SERVERS["openai"](diagnosis(), patch(PYTHON.fix)) as server:
        use(user.home, model("scripted", server))
        with user.start(*RUN) as killed:
            pid.write_text(str(killed.pid))
            killed.communicate(timeout=120)
        pid.unlink()
        (row,) = user.json("execution", "list")
        branch = f"cortex/{row['id']}"
        committed = git(user.checkout, "rev-parse", branch)
        recorded = user.json("execution", "show", row["id"])
        done = user.json("execution", "resume", row["id"])

    assert killed.returncode == -signal.SIGKILL
    assert "commit" not in recorded["results"]
    assert done["status"] == "completed"
    assert done["outputs"]["commit"] == committed.strip()
    assert_green(PYTHON, user.checkout, branch, tmp_path)
    assert print_of(user.checkout) == before
    assert len(server.asked) == 2
    assert git(user.checkout, "worktree", "list").count("\n") == 1
