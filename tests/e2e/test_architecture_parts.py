"""The page on the architecture is enough to add an action, a gate, a projection and a command."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from ..installed_packages import install
from .command_lines import CORTEX

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
BLOCK = re.compile(r"^```\w+\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_LINES = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page, a home and a text of five words."""
    if not PAGE.is_file():
        pytest.skip("docs/ is not beside these tests")
    for name, text in BLOCK.findall(PAGE.read_text()):
        (tmp_path / name).write_text(text)
    install_as_told(tmp_path)
    (tmp_path / "notes.txt").write_text("tea is served at four\n")
    cortex(tmp_path, "init")
    added = (tmp_path / "config.toml").read_text()
    config = tmp_path / ".cortex" / "config.toml"
    config.write_text(f"{added}\n{config.read_text()}")
    return tmp_path


def install_as_told(folder: Path) -> None:
    """Install the package of the page: its name and entry points are those of pyproject.toml."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    groups = {
        group.removeprefix("cortex."): "\n".join(f"{name} = {at}" for name, at in points.items())
        for group, points in project["entry-points"].items()
    }
    install(folder, project["name"], **groups)


def cortex(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(CORTEX), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_parts_of_the_page_work_together(folder: Path) -> None:
    cortex(folder, "run", "count.yaml", "-i", "file=notes.txt", "--workspace", ".")
    rows = json.loads(cortex(folder, "steps", "--json"))
    again = json.loads(cortex(folder, "steps", "--json"))

    assert rows == [{"action": "count_words", "steps": 2}]
    assert again == rows


def test_the_package_holds_every_module_of_the_page(folder: Path) -> None:
    told = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["setuptools"]

    assert set(told["py-modules"]) == {path.stem for path in folder.glob("*.py")}


def test_they_take_few_lines() -> None:
    if not PAGE.is_file():
        pytest.skip("docs/ is not beside these tests")
    parts = [text for name, text in BLOCK.findall(PAGE.read_text()) if name != "count.yaml"]

    lines = [line for text in parts for line in text.splitlines() if line.strip()]

    assert len(parts) == 5
    assert len(lines) <= MOST_LINES
