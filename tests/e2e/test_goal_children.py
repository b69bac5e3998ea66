"""What a goal has a process do stays in the goal's work tree, however deep it is nested."""

from pathlib import Path

import pytest

from ..integration.repair_world import git
from ..servers import ScriptedOpenAI
from .goal_world import DONE, TESTS, call, scripted, user
from .repair_world import PYTHON, SUMMARY, User, patch, print_of, server

__all__ = ["server", "user"]  # fixtures

KID = """
process: kidfix
version: 1
inputs: {names: {type: list, default: [a, b]}}
gates:
  - command: {run: [touch, gated]}
steps:
  - {id: note, action: write_text, with: {path: noted, text: x}}
  - {id: mark, action: shell, with: {run: [touch, marked]}}
  - id: each
    for_each: ${inputs.names}
    action: shell
    with: {run: [touch, "item-${item}"]}
  - {id: deep, process: grandkid}
  - {id: test, action: run_tests, with: {command: [sh, -c, "touch tested"]}}
"""
GRANDKID = """
process: grandkid
version: 1
steps:
  - {id: mark, action: shell, with: {run: [touch, deeper]}}
"""
WRITER = """
process: writer
version: 1
steps:
  - {id: write, action: write_code}
"""
MADE = {"gated", "noted", "marked", "item-a", "item-b", "deeper", "tested"}


@pytest.fixture(autouse=True)
def processes(user: User) -> None:
    for name, source in (("kidfix", KID), ("grandkid", GRANDKID), ("writer", WRITER)):
        (user.home.processes / f"{name}.yaml").write_text(source)


def test_a_child_of_a_goal_its_items_its_gates_and_its_children_work_in_the_goals_tree(
    user: User, server: ScriptedOpenAI
) -> None:
    scripted(user, server, call("kidfix", 1), call("goal_reached", 2, summary="all is done"))
    before = print_of(user.checkout)

    done = user.json("run", "--goal", "x", "--may", "process:kidfix", "--check", "ls deeper")

    tree = Path(done["worktree"])
    assert done["status"] == "completed"
    assert {each.name for each in tree.iterdir()} >= MADE
    assert print_of(user.checkout) == before
    assert not MADE & {each.name for each in user.checkout.iterdir()}
    assert [each.name for each in tree.parent.iterdir() if each.is_dir()] == [done["id"]]


def test_a_process_that_no_goal_runs_works_in_the_workspace_as_before(user: User) -> None:
    user.json("run", "kidfix")

    assert {each.name for each in user.checkout.iterdir()} >= MADE


def test_a_child_that_writes_code_keeps_what_the_goal_changed_before(
    user: User, server: ScriptedOpenAI
) -> None:
    note = call("write_text", 1, path="notes.txt", text="kept")
    scripted(user, server, note, call("writer", 2), patch(PYTHON.fix), DONE)

    may = ("--may", "write_text", "--may", "process:writer")
    done = user.json("run", "--goal", "x", *may, "--check", TESTS)

    tree = Path(done["worktree"])
    assert [each["status"] for each in done["chosen"]] == ["completed"] * 2
    assert (tree / "notes.txt").read_text() == "kept"
    assert PYTHON.right_line in (tree / "cart.py").read_text()


def test_what_a_child_commits_leaves_the_rest_of_the_goals_work_where_it_is(
    user: User, server: ScriptedOpenAI
) -> None:
    source = WRITER + "  - {id: commit, action: commit_and_push}\n"
    (user.home.processes / "writer.yaml").write_text(source)
    note = call("write_text", 1, path="notes.txt", text="kept")
    scripted(user, server, note, call("writer", 2), patch(PYTHON.fix), DONE)

    may = ("--may", "write_text", "--may", "process:writer")
    done = user.json("run", "--goal", "x", *may, "--check", TESTS)

    tree = Path(done["worktree"])
    assert (tree / "notes.txt").read_text() == "kept"
    assert PYTHON.right_line in (tree / "cart.py").read_text()
    log = git(user.checkout, "log", "--format=%s", "-1", f"cortex/{done['id']}")
    assert log == f"{SUMMARY}\n"
