"""What a process was linked to goes or changes: it is said at once, with a hub and without."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..waiting import until
from .up_world import STUCK_S, Desk

NEEDS_ROTA = """\
process: rota
version: 1
knowledge: [team.rota]
steps:
  - { id: say, action: shell, with: { run: echo here } }
"""

NEEDS_SKILL = """\
process: rota
version: 1
steps:
  - { id: say, action: answer_question, with: { question: who }, tools: [style] }
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A folder with a home, on which no hub is up yet."""
    desk = Desk(tmp_path)
    (desk.home.processes / "rota.yaml").write_text(NEEDS_ROTA)
    (desk.home.knowledge / "team").mkdir(exist_ok=True)
    page(desk).write_text("Ada, then Grace\n")
    yield desk
    desk.run("down", "--kill")


def page(desk: Desk) -> Path:
    return desk.home.knowledge / "team" / "rota.md"


def digest(desk: Desk) -> str:
    shown = desk.run("process", "inspect", "rota", "--json")
    assert shown.returncode == 0, shown.stderr
    found: str = json.loads(shown.stdout)["process"]["digest"]
    return found


def assert_refused(run: "subprocess.CompletedProcess[str]") -> None:
    assert run.returncode != 0
    assert "rota is unlinked: topic team.rota is not there" in run.stdout + run.stderr


def test_without_a_hub_a_run_is_refused_once_a_topic_is_gone_and_goes_again_with_it(
    desk: Desk,
) -> None:
    assert desk.run("run", "rota").returncode == 0

    page(desk).unlink()
    assert_refused(desk.run("run", "rota"))
    page(desk).write_text("Ada, then Grace\n")

    assert desk.run("run", "rota").returncode == 0


def test_whoever_waits_for_a_parent_that_does_not_compile_is_told_to_correct_it(desk: Desk) -> None:
    text = "process: child\nversion: 1\nextends: rota\n"
    (desk.home.processes / "child.yaml").write_text(text)
    assert desk.run("run", "child").returncode == 0
    page(desk).unlink()

    refused = desk.run("run", "child", "--wait", "1")

    assert refused.returncode != 0
    assert "parent `rota` does not compile" in refused.stderr
    assert "correct what `cortex process validate` finds" in refused.stderr


def test_without_a_hub_an_edited_skill_is_another_digest(desk: Desk) -> None:
    (desk.home.processes / "rota.yaml").write_text(NEEDS_SKILL)
    skill = desk.home.path / "skills" / "style" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("# Style\n\nShort.\n")
    before = digest(desk)

    skill.write_text("# Style\n\nShorter.\n")
    after = digest(desk)
    skill.write_text("# Style\n\nShort.\n")

    assert after != before
    assert digest(desk) == before


def test_without_a_hub_an_edited_topic_is_another_digest(desk: Desk) -> None:
    before = digest(desk)

    page(desk).write_text("Grace, then Ada\n")

    assert digest(desk) != before
    assert digest(desk) == digest(desk)


def test_beside_a_hub_a_topic_that_goes_unlinks_by_itself(desk: Desk) -> None:
    assert desk.run("run", "rota").returncode == 0
    up = desk.run("up", "--background")
    assert up.returncode == 0, up.stderr

    page(desk).unlink()
    until(lambda: "process.unlinked" in desk.topics())

    waiting = desk.begin("run", "rota")
    until(lambda: "execution.deferred" in desk.topics())
    page(desk).write_text("Ada, then Grace\n")
    _, said = waiting.communicate(timeout=STUCK_S)
    assert "rota: topic team.rota is not there" in said
    assert waiting.returncode == 0
