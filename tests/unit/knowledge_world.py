"""A few files of knowledge, a store for them, and the first that a question finds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.runtime.knowledge import Root
from cortex.runtime.retrieval import Finder, PassageStore

DEPLOY = "# Deploying\n\nEvery deployment is rolled out by region. Frankfurt goes first.\n"
LEAVE = "# Leave\n\nAsk your lead two weeks ahead.\n\n## Sick days\n\nWrite to people operations.\n"
TALK = """\
3 March

Maria: I started pottery classes last week.
Jonas: Lovely! What did you make so far?
Maria: A bowl and two cups, both a little crooked.
Jonas: I went hiking on Saturday.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "knowledge"
    (root / "ops").mkdir(parents=True)
    (root / "ops" / "deploy.md").write_text(DEPLOY)
    (root / "leave.md").write_text(LEAVE)
    (root / "talk.txt").write_text(TALK)
    return root


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PassageStore]:
    opened = PassageStore.open(tmp_path / "vectors" / "knowledge.db")
    yield opened
    opened.close()


def roots(folder: Path) -> list[Root]:
    return [Root(str(folder), "home")]


def first(store: PassageStore, question: str) -> str:
    found = Finder(store).find(question, 1).passages
    return found[0].text if found else ""
