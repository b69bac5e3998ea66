"""What the guides show for a hub that is up does, as it stands there, what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..waiting import until
from .up_world import STUCK_S, Desk, desk

__all__ = ["desk"]  # a fixture

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="docs/ is not beside these tests")


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def printed(desk: Desk, program: str) -> list[str]:
    (desk.folder / "guide.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "guide.py"],
        cwd=desk.folder, env=desk.env, capture_output=True, text=True, timeout=STUCK_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_programs_about_knowledge_find_what_they_ask_for(desk: Desk) -> None:
    ask, find = blocks("knowledge.md", "python")
    page = desk.home.knowledge / "team" / "owners.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("# Owners\n\nGrace owns the flaky tests.\n")

    ((_, topic, first_line), *others) = map(str.split, printed(desk, ask))
    found = [line.split()[1] for line in printed(desk, find)]

    assert (topic, first_line, others) == ("team.owners", "1", [])
    assert {"fix_ci_failure", "triage_ci_failure"} <= set(found[:3])


def test_the_process_that_files_start_is_started_by_one(desk: Desk) -> None:
    (source,) = (each for each in blocks("up.md", "yaml") if "type: file" in each)
    (desk.home.processes / "import.yaml").write_text(source)
    until(lambda: "import" in desk.run("process", "list").stdout)

    (desk.folder / "inbox" / "a.csv").write_text("1\n")

    row = until(
        lambda: [
            each
            for each in desk.many(("execution", "list"))[0][1]
            if (each["process"], each["status"]) == ("import", "completed")
        ]
    )
    assert [each["goal"] for each in row] == ["inbox/a.csv changed"]
