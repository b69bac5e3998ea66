"""`execution resume -i NAME=VALUE`: what halted goes on with what a person changed."""

import json
from pathlib import Path

from .up_world import Desk

NEEDS = """process: needs
version: 1
inputs:
  file: { type: path, required: true }
  count: { type: integer, default: 1 }
steps:
  - { id: look, action: shell, with: { run: [test, -e, '${inputs.file}'] } }
"""


def test_an_execution_that_was_begun_with_a_typo_goes_on_with_the_right_input(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    (desk.home.processes / "needs.yaml").write_text(NEEDS)
    (tmp_path / "there.txt").write_text("x")
    halted = desk.run("run", "needs", "-i", "file=their.txt", "--json")
    execution_id = json.loads(halted.stdout)["id"]

    def resume(*options: str) -> tuple[int, str, str]:
        done = desk.run("execution", "resume", execution_id, *options)
        return done.returncode, done.stdout, done.stderr

    wrong = resume("-i", "count=many")
    unknown = resume("-i", "fil=there.txt")
    both = resume("-i", "file=there.txt", "--approve")
    right = resume("-i", "file=there.txt", "--note", "a typo")
    shown = json.loads(desk.run("execution", "show", execution_id, "--json").stdout)
    late = resume("-i", "file=other.txt")

    assert json.loads(halted.stdout)["status"] == "halted"
    assert wrong[0] == both[0] == 2
    assert "did you mean file" in unknown[1] + unknown[2]
    assert right[0] == 0, right
    assert "changed" in right[2]
    assert "file = " in right[2]
    assert "; by owner; a typo" in right[2]
    assert shown["inputs"]["file"] == str(tmp_path / "there.txt")
    assert late[0] != 0
    assert "completed" in late[1] + late[2]
    assert all(
        "Traceback" not in said for each in (wrong, unknown, both, late) for said in each[1:]
    )
