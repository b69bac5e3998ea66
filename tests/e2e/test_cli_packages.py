"""`cortex package`: compile, list, show, suggestions; in JSON, and as it was."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CORTEX = Path(sys.executable).parent / "cortex"


def cortex(folder: Path, *args: str, code: int = 0) -> str:
    done = subprocess.run(
        [CORTEX, *args], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def data(folder: Path, *args: str) -> Any:
    return json.loads(cortex(folder, *args, "--json"))


def test_a_package_is_compiled_shown_and_seen_as_it_was(tmp_path: Path) -> None:
    cortex(tmp_path, "init")
    old = data(tmp_path, "memory", "record", "decision", "We use MySQL for billing")["id"]
    other = data(tmp_path, "memory", "record", "preference", "Tabs", "--scope", "project:shop")

    made = data(tmp_path, "package", "compile", old[:6])
    then = data(tmp_path, "package", "list")[0]["position"]
    cortex(tmp_path, "memory", "correct", old, "We use Postgres for billing")
    again = data(tmp_path, "package", "compile", old)

    assert made["id"] == again["id"]
    assert made["sources"] == [old] == again["replaced"]
    text = cortex(tmp_path, "package", "show", made["id"][:5])
    assert "no longer true:\n2 " in text
    assert "MySQL" not in cortex(tmp_path, "package", "show", made["id"], "--current")
    before = data(tmp_path, "package", "show", made["id"], "--at", str(then))
    assert "MySQL" in before["text"]
    assert "no longer true" not in before["text"]
    assert data(tmp_path, "package", "list", "--scope", "project:shop") == []
    assert data(tmp_path, "package", "suggestions") == []
    assert "in the scope" in cortex(tmp_path, "package", "compile", old, other["id"], code=1)
    missing = cortex(tmp_path, "package", "show", "none", code=3)
    assert missing.count("\n") == 1
    assert "cortex package list" in missing
