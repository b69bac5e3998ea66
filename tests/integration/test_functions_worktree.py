"""Where an execution has a work tree, a path of a function is the one in there."""

import subprocess
from pathlib import Path as PlainPath

import pytest

from cortex.bus.events import StepCompleted, StepExecute, StepFailed
from cortex.runtime.functions import Path, action
from cortex.runtime.kernel import Delivery, Home, component_of, construct


@action("note_it", effect="idempotent")
def note_it(path: Path, text: str) -> Path:
    """Write a note."""
    path.write_text(text)
    return path


def answer(home: Home | None, workspace: PlainPath, path: str) -> object:
    found = component_of(note_it)
    assert found is not None
    event = StepExecute(
        execution_id="e1",
        step_id="s1",
        action="note_it",
        parameters={"path": path, "text": "changed"},
        workspace=str(workspace),
        worktree=True,
    )
    made = construct(found, {"home": home})
    (said,) = made.execute(event, Delivery(1, 1, "NoteIt"))  # type: ignore[attr-defined]
    return said


@pytest.fixture
def checkout(tmp_path: PlainPath) -> PlainPath:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text("as it was")

    def git(*words: str) -> None:
        subprocess.run(("git", *words), cwd=folder, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("-c", "user.name=ada", "-c", "user.email=ada@example.org", "commit", "-qm", "first")
    return folder


def test_a_file_changes_in_the_work_tree_alone(checkout: PlainPath, tmp_path: PlainPath) -> None:
    home = Home.create(tmp_path / ".cortex")

    done = answer(home, checkout / "sub", "a.txt")

    assert isinstance(done, StepCompleted)
    assert done.result == {"value": "a.txt"}
    assert (checkout / "sub" / "a.txt").read_text() == "as it was"
    assert (home.path / "worktrees" / "e1" / "sub" / "a.txt").read_text() == "changed"


def test_the_workspace_itself_leads_out_of_the_work_tree(
    checkout: PlainPath, tmp_path: PlainPath
) -> None:
    home = Home.create(tmp_path / ".cortex")

    failed = answer(home, checkout, str(checkout / "sub" / "a.txt"))

    assert isinstance(failed, StepFailed)
    assert failed.error.endswith("leads out of the workspace: name a path in it")


def test_who_has_no_home_cannot_reach_the_work_tree(checkout: PlainPath) -> None:
    failed = answer(None, checkout, "sub/a.txt")

    assert isinstance(failed, StepFailed)
    assert (failed.kind, failed.retry) == ("refused", False)
    assert "worktree" in failed.error
    assert (checkout / "sub" / "a.txt").read_text() == "as it was"
