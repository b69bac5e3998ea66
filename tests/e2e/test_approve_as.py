"""`cortex execution approve`: a person answers as the client whose token they have."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..waiting import until
from .up_world import Desk, up

ASK = """process: ask
version: 1
gates:
  - approved: { question: Shall it be deployed?, by: [alice] }
steps:
  - { id: one, action: shell, with: { run: echo one } }
"""
GRANTS = [
    *("--approve", "ask/approved", "--read", "execution.*", "--read", "gate.*"),
    *("--subscribe", "execution.*", "--subscribe", "gate.*"),
]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    (desk.home.processes / "ask.yaml").write_text(ASK)
    desk.up = json.loads(up(desk, "--json").stdout)
    for name in ("alice", "mallory"):
        added = desk.run("client", "add", name, *GRANTS, "--token-file", f"{name}.token")
        assert added.returncode == 0, added
    yield desk
    desk.run("down", "--kill")


def test_a_gate_that_names_who_answers_it_is_answered_by_that_client(desk: Desk) -> None:
    execution_id = json.loads(desk.run("run", "ask", "--json").stdout)["id"]
    approve = ("execution", "approve", execution_id, "--token-file")

    owner = desk.run("execution", "resume", execution_id, "--approve")
    mallory = desk.run(*approve, "mallory.token")
    nobody = desk.run(*approve, "missing.token")
    unknown = desk.run("execution", "approve", "nothing", "--token-file", "alice.token")
    alice = desk.run(*approve, "alice.token", "--note", "all is green", "--json")
    again = desk.run(*approve, "alice.token")
    shown = until(
        lambda: (
            found := json.loads(desk.run("execution", "show", execution_id, "--json").stdout)
        )["status"] == "completed" and found
    )  # fmt: skip

    assert owner.returncode == mallory.returncode == 5, (owner, mallory)
    assert "not mallory: alice may answer" in mallory.stderr
    assert (nobody.returncode, unknown.returncode, again.returncode) == (2, 1, 1)
    assert "asks anything that alice may see" in again.stderr
    assert alice.returncode == 0, alice
    said = json.loads(alice.stdout)
    assert (said["by"], said["answer"], said["gate"]) == ("alice", "approved", "ask/approved")
    assert [(a["by"], a["counted"]) for a in shown["answers"]] == [
        ("owner", False), ("mallory", False), ("alice", True),
    ]  # fmt: skip
    assert all("Traceback" not in each.stderr for each in (owner, mallory, unknown, again))
