"""Every gate says whether it passes, and if not, in one line what to do."""

import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.actors.gates import (
    Approved,
    BranchClean,
    Command,
    ExecutionContextExists,
    FileExists,
)
from cortex.bus import Event
from cortex.bus.events import GateEvaluate
from cortex.runtime.kernel import Config, Delivery, Home

from .actors_world import PYTHON, gate_evaluate, verdict

Evaluate = Callable[[GateEvaluate, Delivery], Iterable[Event]]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "kept.txt").write_text("kept\n")
    git(tmp_path, "add", "kept.txt")
    git(tmp_path, "commit", "--quiet", "--message=first")
    return tmp_path


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True)


def command(*allow: str) -> Command:
    return Command(msgspec.convert({"handlers": {"shell": {"allow": allow}}}, Config))


# approved


def test_approved_waits_with_its_question_until_somebody_answers() -> None:
    answer = verdict(Approved().evaluate, gate_evaluate("approved", parameters={"question": "Go?"}))

    assert (answer.outcome, answer.reason) == ("waiting", "Go?")


def test_approved_passes_with_who_said_yes() -> None:
    said = {"answer": "approved", "by": "ada", "requested_by": "bob"}
    event = gate_evaluate("approved", **said, parameters={"question": "Go?"})

    answer = verdict(Approved().evaluate, event)

    assert answer.outcome == "passed"
    assert answer.evidence == {"question": "Go?", "by": "ada", "requested_by": "bob"}


@pytest.mark.parametrize(("by", "reason"), [("ada", "ada denied it"), ("", "a person denied it")])
def test_approved_fails_when_somebody_says_no(by: str, reason: str) -> None:
    answer = verdict(Approved().evaluate, gate_evaluate("approved", answer="denied", by=by))

    assert (answer.outcome, answer.reason) == ("failed", reason)


# branch_clean


def test_branch_clean_passes_on_a_checkout_without_changes(checkout: Path) -> None:
    answer = verdict(BranchClean().evaluate, gate_evaluate("branch_clean", str(checkout)))

    assert (answer.outcome, answer.evidence) == ("passed", {"branch": "main"})


@pytest.mark.parametrize("folder", [".", "inner"])
def test_branch_clean_leaves_the_home_out(checkout: Path, folder: str) -> None:
    (checkout / "inner").mkdir()
    home = Home.create(checkout / folder / ".cortex")
    gate = BranchClean(home)
    asked = gate_evaluate("branch_clean", str(checkout / folder))

    assert verdict(gate.evaluate, asked).outcome == "passed"
    (checkout / "new.txt").write_text("x")
    assert verdict(gate.evaluate, asked).evidence["changed"] == ["?? new.txt"]


def test_branch_clean_names_what_is_not_committed(checkout: Path) -> None:
    (checkout / "new.txt").write_text("new\n")
    git(checkout, "mv", "kept.txt", "moved.txt")

    answer = verdict(BranchClean().evaluate, gate_evaluate("branch_clean", str(checkout)))

    assert answer.outcome == "failed"
    assert answer.reason == (
        "3 uncommitted paths on main (kept.txt, moved.txt, new.txt): commit or stash them, then "
        "resume"
    )
    assert answer.evidence["changed"] == ["D  kept.txt", "A  moved.txt", "?? new.txt"]


def test_branch_clean_names_the_first_of_many_and_one_alone_as_one(checkout: Path) -> None:
    asked = gate_evaluate("branch_clean", str(checkout))
    (checkout / "a.txt").write_text("new\n")
    one = verdict(BranchClean().evaluate, asked)
    for name in "bcd":
        (checkout / f"{name}.txt").write_text("new\n")
    four = verdict(BranchClean().evaluate, asked)

    assert one.reason == "1 uncommitted path on main (a.txt): commit or stash it, then resume"
    assert four.reason.startswith("4 uncommitted paths on main (a.txt, b.txt, c.txt, ...): ")


def test_branch_clean_knows_the_branch_before_the_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=trunk")

    answer = verdict(BranchClean().evaluate, gate_evaluate("branch_clean", str(tmp_path)))

    assert answer.evidence["branch"] == "trunk"


def test_branch_clean_asks_about_the_workspace_whatever_git_was_told_before(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A runtime that a git hook starts inherits GIT_DIR, which would win over the workspace.
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "--quiet")
    (checkout / "new.txt").write_text("new\n")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))

    answer = verdict(BranchClean().evaluate, gate_evaluate("branch_clean", str(checkout)))

    assert answer.outcome == "failed"


def test_branch_clean_does_not_run_a_program_that_the_checkout_names(checkout: Path) -> None:
    trace = checkout / "was_run"
    monitor = checkout / ".git" / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch '{trace}'\n")
    monitor.chmod(0o755)
    git(checkout, "config", "core.fsmonitor", str(monitor))

    verdict(BranchClean().evaluate, gate_evaluate("branch_clean", str(checkout)))

    assert not trace.exists()


@pytest.mark.parametrize("setting", ["clean", "process"])
@pytest.mark.parametrize("name", ["x", "a.b", "X.clean", "a=b"])
def test_branch_clean_does_not_run_a_filter_that_the_checkout_names(
    name: str, setting: str, checkout: Path
) -> None:
    trace = checkout / "was_run"
    (checkout / ".gitattributes").write_text(f"* filter={name}\n")
    git(checkout, "config", f"filter.{name}.{setting}", f"touch '{trace}'; cat")
    git(checkout, "config", f"filter.{name}.required", "true")
    (checkout / "kept.txt").write_text("kepT\n")

    answer = verdict(BranchClean().evaluate, gate_evaluate("branch_clean", str(checkout)))

    assert not trace.exists()
    assert answer.outcome == "failed"
    assert " M kept.txt" in answer.evidence["changed"]


def test_branch_clean_does_not_run_a_filter_that_a_submodule_names(checkout: Path) -> None:
    trace = checkout / "was_run"
    inner = checkout / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    (inner / "kept.txt").write_text("kept\n")
    git(inner, "add", ".")
    git(inner, "commit", "--quiet", "--message=kept")
    git(checkout, "add", "inner")
    git(inner, "config", "filter.x.clean", f"touch '{trace}'; cat")
    (inner / ".git" / "info" / "attributes").write_text("* filter=x\n")
    (inner / "kept.txt").write_text("kepT\n")

    verdict(BranchClean().evaluate, gate_evaluate("branch_clean", str(checkout)))

    assert not trace.exists()


def test_branch_clean_leaves_the_index_and_its_hooks_alone(checkout: Path) -> None:
    trace = checkout / "was_run"
    hook = checkout / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{trace}'\n")
    hook.chmod(0o755)
    (checkout / "kept.txt").touch()

    verdict(BranchClean().evaluate, gate_evaluate("branch_clean", str(checkout)))

    assert not trace.exists()


def test_branch_clean_fails_outside_a_checkout(tmp_path: Path) -> None:
    answer = verdict(BranchClean().evaluate, gate_evaluate("branch_clean", str(tmp_path)))

    assert answer.outcome == "failed"
    assert answer.reason.startswith(f"{tmp_path} is not a git checkout: ")


def test_branch_clean_fails_without_a_workspace() -> None:
    answer = verdict(BranchClean().evaluate, gate_evaluate("branch_clean"))

    assert answer.reason == "the execution has no workspace: start it with --workspace"


def test_branch_clean_fails_where_git_is_not_installed(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(checkout))

    answer = verdict(BranchClean().evaluate, gate_evaluate("branch_clean", str(checkout)))

    assert answer.reason == "git is not installed: install it, then resume"


# command


def test_command_passes_when_the_program_ends_with_0(tmp_path: Path) -> None:
    run = [PYTHON, "-c", "import os; print(os.getcwd())"]

    event = gate_evaluate("command", str(tmp_path), parameters={"run": run})
    answer = verdict(command().evaluate, event)

    assert answer.outcome == "passed"
    assert answer.evidence == {"command": run, "exit_code": 0, "output": str(tmp_path.resolve())}


def test_command_fails_with_what_the_program_said(tmp_path: Path) -> None:
    run = [PYTHON, "-c", "import sys; print('out'); sys.exit('err')"]

    event = gate_evaluate("command", str(tmp_path), parameters={"run": run})
    answer = verdict(command().evaluate, event)

    assert (answer.outcome, answer.reason) == ("failed", f"{PYTHON} ended with 1")
    assert answer.evidence["output"] == "out\nerr"


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ("", "a command without words cannot be run"),
        ([], "a command without words cannot be run"),
        ("'open", "cannot be split into words: No closing quotation"),
        ("/no/such/program", "/no/such/program cannot be started: No such file or directory"),
        (["a\0b"], "cannot be started"),
        ([PYTHON, "a\0b"], "cannot be started"),
    ],
)
def test_command_says_why_a_program_cannot_be_run(run: Any, reason: str, tmp_path: Path) -> None:
    event = gate_evaluate("command", str(tmp_path), parameters={"run": run})
    answer = verdict(command().evaluate, event)

    assert answer.outcome == "failed"
    assert reason in answer.reason


def test_command_runs_only_programs_that_the_configuration_allows() -> None:
    answer = verdict(
        command("make", "git").evaluate, gate_evaluate("command", parameters={"run": "rm -rf x"})
    )

    assert answer.reason == "rm is not among the programs that config.toml allows (make, git)"


def test_command_ends_a_program_that_takes_too_long(tmp_path: Path) -> None:
    run = [PYTHON, "-c", "import threading; threading.Event().wait()"]

    event = gate_evaluate("command", str(tmp_path), parameters={"run": run, "timeout_s": 0.2})
    answer = verdict(command().evaluate, event)

    assert answer.reason == f"{PYTHON} was ended after 0.2 s"


# execution_context_exists


def test_execution_context_exists_passes_with_trigger_goal_and_workspace(tmp_path: Path) -> None:
    event = gate_evaluate("execution_context_exists", str(tmp_path), trigger="t1", goal="triage")

    answer = verdict(ExecutionContextExists().evaluate, event)

    assert answer.outcome == "passed"
    assert answer.evidence == {"trigger": "t1", "goal": "triage", "workspace": str(tmp_path)}


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"goal": "g"}, "no trigger: start another with one"),
        ({"trigger": "t"}, "no goal: start another with one (`--goal TEXT`)"),
        ({}, "no trigger and no goal: start another with one (`--goal TEXT`)"),
    ],
)
def test_execution_context_exists_names_what_is_missing(
    given: dict[str, str], missing: str, tmp_path: Path
) -> None:
    event = gate_evaluate("execution_context_exists", str(tmp_path), **given)

    answer = verdict(ExecutionContextExists().evaluate, event)

    assert answer.reason == f"the execution has {missing}"


@pytest.mark.parametrize("workspace", ["", "/no/such/folder", __file__, "a\0b", "x" * 5_000])
def test_execution_context_exists_wants_a_workspace_that_is_a_folder(workspace: str) -> None:
    event = gate_evaluate("execution_context_exists", workspace, trigger="t1", goal="g")

    answer = verdict(ExecutionContextExists().evaluate, event)

    assert answer.reason == "the execution has no workspace: start another with one"


# file_exists


@pytest.mark.parametrize(("path", "kind"), [("a.txt", "file"), (".", "folder")])
def test_file_exists_starts_relative_paths_at_the_workspace(
    path: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").touch()

    event = gate_evaluate("file_exists", str(tmp_path), parameters={"path": path})
    answer = verdict(FileExists().evaluate, event)

    assert answer.outcome == "passed"
    assert answer.evidence == {"path": str(tmp_path / path), "kind": kind}


def test_file_exists_names_the_path_that_is_not_there(tmp_path: Path) -> None:
    event = gate_evaluate("file_exists", str(tmp_path), parameters={"path": "gone.txt"})
    answer = verdict(FileExists().evaluate, event)

    assert answer.reason == f"{tmp_path}/gone.txt is not there: make it, then resume"


@pytest.mark.parametrize("path", ["a\0b", "x" * 5_000])
def test_file_exists_fails_for_a_path_that_cannot_be(path: str, tmp_path: Path) -> None:
    event = gate_evaluate("file_exists", str(tmp_path), parameters={"path": path})

    assert verdict(FileExists().evaluate, event).outcome == "failed"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_file_exists_fails_where_it_may_not_look(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)

    event = gate_evaluate("file_exists", str(tmp_path), parameters={"path": "closed/a.txt"})
    answer = verdict(FileExists().evaluate, event)

    assert "Permission denied" in answer.reason


# Parameters that an interpolation gave a wrong type.


@pytest.mark.parametrize(
    ("gate", "evaluate", "parameters"),
    [
        ("approved", Approved().evaluate, {"question": 3}),
        ("command", command().evaluate, {"run": 3}),
        ("command", command().evaluate, {"run": ["ls", 3]}),
        ("command", command().evaluate, {}),
        ("command", command().evaluate, {"run": "ls", "timeout_s": "soon"}),
        ("command", command().evaluate, {"run": "ls", "timeout_s": 0}),
        ("file_exists", FileExists().evaluate, {"path": ["a"]}),
        ("file_exists", FileExists().evaluate, {"path": None}),
        ("file_exists", FileExists().evaluate, {}),
    ],
)
def test_a_gate_fails_in_one_line_where_its_parameters_are_wrong(
    gate: str, evaluate: Evaluate, parameters: dict[str, Any]
) -> None:
    answer = verdict(evaluate, gate_evaluate(gate, parameters=parameters))

    assert answer.outcome == "failed"
    assert answer.reason.startswith(f"{gate}: ")
    assert "\n" not in answer.reason


def test_a_parameter_that_came_to_nothing_counts_as_left_out() -> None:
    event = gate_evaluate("approved", parameters={"question": None})

    assert verdict(Approved().evaluate, event).reason == "Shall this go on?"
