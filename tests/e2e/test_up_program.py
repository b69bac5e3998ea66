"""The guide to a hub that is up: its program follows what its worker does, as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .up_world import STUCK_S, Desk, desk

__all__ = ["desk"]  # a fixture

GUIDE = Path(__file__).parents[2] / "docs" / "up.md"


@pytest.fixture
def blocks() -> list[str]:
    if not GUIDE.is_file():
        pytest.skip("docs/ is not beside these tests")
    return re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


def test_a_program_sees_what_a_worker_carries_out(desk: Desk, blocks: list[str]) -> None:
    program, worker = blocks
    (desk.folder / "guide_steps.py").write_text(worker)
    ready = "    print('following', flush=True)\n    for event"
    (desk.folder / "notes.py").write_text(program.replace("    for event", ready, 1))
    desk.worker("guide_steps:greet")
    running = subprocess.Popen(
        [sys.executable, "-u", "notes.py"],
        cwd=desk.folder, env=desk.env, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert running.stdout is not None
    try:
        while running.stdout.readline() != "following\n":
            assert running.poll() is None
        desk.run("run", "greeting", "--json")
        said = running.stdout.readline()
    finally:
        running.kill()
        running.communicate(timeout=STUCK_S)

    assert said == "hello hello, you\n"
