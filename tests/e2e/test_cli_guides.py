"""What the README and the first guide show works as it stands there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORTEX = Path(sys.executable).parent / "cortex"


def block(path: Path, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data"), "GIT_CONFIG_GLOBAL": os.devnull}
    env.pop("CORTEX_HOME", None)
    for name in ("AUTHOR", "COMMITTER"):
        env[f"GIT_{name}_NAME"] = env[f"GIT_{name}_EMAIL"] = "ada"
    return env


def test_the_lines_of_the_readme_run(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "readme.py").write_text(block(ROOT / "README.md", "python"))

    done = subprocess.run(
        [sys.executable, "readme.py"],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip

    assert done.stdout == "Hello, Ada!\n"


def test_the_compiled_process_of_the_readme_reports_what_failed(
    tmp_path: Path, env: dict[str, str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = (ROOT / "README.md").read_text().partition("```python\n")[2].partition("```python\n")[2]
    (tmp_path / "compiled.py").write_text(text.partition("```")[0])

    subprocess.run([str(CORTEX), "init"], cwd=tmp_path, env=env, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "compiled.py"],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip

    assert done.stdout.startswith("2 failing tests (pytest): tests/test_items.py::")


def test_the_process_of_the_first_guide_does_what_the_guide_says(
    tmp_path: Path, env: dict[str, str]
) -> None:
    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
        )

    def cortex(*args: str) -> subprocess.CompletedProcess[str]:
        return run(str(CORTEX), *args)

    run("git", "init", "-q")
    (tmp_path / ".gitignore").write_text(".cortex/\ndata/\n")
    run("git", "add", ".gitignore")
    run("git", "commit", "-qm", "a first change")
    cortex("init")
    source = block(ROOT / "docs" / "getting-started.md", "yaml")
    (tmp_path / ".cortex" / "processes" / "release_notes.yaml").write_text(source)

    validated = cortex("process", "validate")
    (tmp_path / "stray").write_text("")
    halted = cortex("run", "release_notes", "-i", "tag=v1.2.0")
    (tmp_path / "stray").unlink()
    hint = re.search(r"cortex execution resume (\w+)", halted.stdout)
    assert hint is not None
    waiting = cortex("execution", "resume", hint[1])
    done = cortex("execution", "resume", hint[1], "--approve", "--note", "read it")

    assert validated.returncode == 0, validated.stdout
    assert (halted.returncode, waiting.returncode, done.returncode) == (1, 5, 0)
    assert "branch_clean did not pass" in halted.stdout
    assert "Is this what the release should say?" in waiting.stdout
    assert run("git", "tag").stdout == "v1.2.0\n"


def test_the_first_example_of_the_language_compiles_beside_the_library(
    tmp_path: Path, env: dict[str, str]
) -> None:
    def cortex(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(CORTEX), *args],
            cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    cortex("init")
    library = {line.split()[0] for line in cortex("process", "list").stdout.splitlines() if line}
    source = block(ROOT / "docs" / "process-language.md", "yaml")
    (tmp_path / ".cortex" / "processes" / "example.yaml").write_text(source)

    validated = cortex("process", "validate", "--strict")

    assert validated.returncode == 0, validated.stdout + validated.stderr
    assert source.splitlines()[0].removeprefix("process: ") not in library


def test_the_manifest_that_its_guide_shows_is_that_of_the_demo(
    tmp_path: Path, env: dict[str, str]
) -> None:
    def cortex(*args: str) -> str:
        return subprocess.run(
            [str(CORTEX), *args],
            cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=True,
        ).stdout  # fmt: skip

    (tmp_path / "examples").symlink_to(ROOT / "examples")
    log, checkout = "log=examples/tomlkit-ci-failure.log", "checkout=examples/tomlkit-0.11.8"
    cortex("init")
    ran = json.loads(cortex("run", "triage_ci_failure", "-i", log, "-i", checkout, "--json"))
    printed = cortex("prompt", "show", ran["id"], "--manifest").splitlines()
    health = cortex("context", "health")
    guide = (ROOT / "docs" / "manifest.md").read_text().partition("## Your first manifest")[2]

    shown = [line.split() for line in block_of(guide).splitlines() if line.strip(" .")]
    there = [line.split() for line in printed]
    assert [line for line in shown if line not in there] == [
        ["item", "section", "state", "tokens", "score", "why"]  # a table of its own on a terminal
    ]
    assert "1,886 of 24,000 tokens, 8%; 1,500 kept for the answer" in health


def block_of(text: str) -> str:
    return text.split("```")[1]
