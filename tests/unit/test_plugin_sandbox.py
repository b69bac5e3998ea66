"""What a sandbox shows of Cortex: all that a plugin imports, and nothing that is not there."""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cortex

pytestmark = pytest.mark.wheel  # it starts what the wheel installs


# Behind the front door: only the supervisor of plugins makes sandboxes.
sandbox: Any = importlib.import_module("cortex.plugins.host.sandbox")


def test_every_folder_that_is_shown_is_there() -> None:
    shown = list(sandbox.python_code())

    assert [path for path in shown if not path.is_dir()] == []


def test_a_plugin_finds_every_name_of_cortex_in_the_folders_that_are_shown() -> None:
    shown = [path.resolve() for path in sandbox.python_code()]
    script = (
        "import cortex, sys\n"
        "for name in cortex.__all__: getattr(cortex, name)\n"
        "print(*{m.__file__ for n, m in sys.modules.items() if n.partition('.')[0] == 'cortex'})"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True
    )

    files = [Path(file).resolve() for file in done.stdout.split()]
    assert Path(cortex.__file__ or "").resolve() in files
    assert [f for f in files if not any(f.is_relative_to(path) for path in shown)] == []
