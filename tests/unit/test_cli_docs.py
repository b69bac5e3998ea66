"""The documentation says what the code does; the tree knows its commands without loading them."""

import importlib
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CORTEX = Path(sys.executable).parent / "cortex"


def test_the_reference_and_the_table_of_keys_are_in_step_with_the_code(tmp_path: Path) -> None:
    shutil.copy(DOCS / "configuration.md", tmp_path)

    command = [sys.executable, "-m", "cortex.runtime.cli.reference", str(tmp_path)]
    subprocess.run(command, check=True, cwd=tmp_path)

    for name in ("cli.md", "configuration.md"):
        again = f"python -m cortex.runtime.cli.reference docs writes {name} again"
        assert (tmp_path / name).read_text() == (DOCS / name).read_text(), again


def test_every_command_has_help_and_shows_the_line_that_the_tree_shows() -> None:
    helped = subprocess.run([str(CORTEX), "--help"], capture_output=True, text=True, check=True)
    listed = helped.stdout.partition("Commands:")[2].splitlines()
    shown = dict(line.strip().split("  ", 1) for line in listed if line.strip())

    for name, line in shown.items():
        told = subprocess.run([str(CORTEX), name, "-h"], capture_output=True, text=True, check=True)
        assert line.strip() in " ".join(told.stdout.split())


def test_help_imports_neither_bus_nor_runtime() -> None:
    code = (
        "import sys; from cortex.runtime.cli import main; main(['--help']); "
        "print([m for m in sys.modules if m.startswith('cortex.')], file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "cortex.bus" not in done.stderr
    assert "cortex.runtime.kernel" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_completion_script_for_each_shell(shell: str) -> None:
    done = subprocess.run(
        [str(CORTEX), "completion", shell], capture_output=True, text=True, check=True
    )

    assert "_CORTEX_COMPLETE" in done.stdout


def test_the_command_is_the_front_door_of_its_room() -> None:
    (point,) = entry_points(group="console_scripts", name="cortex")

    assert point.value == "cortex.runtime.cli:main"
    assert importlib.import_module("cortex.runtime.cli").__all__ == ["main"]
