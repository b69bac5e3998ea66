"""No program of a gate outlives its hub: neither what it runs nor what that started."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..waiting import until
from . import effects_world
from .effects_world import EffectsWorld, alive

# Writes its own process id and that of a child, and waits for longer than any test.
PROGRAM = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(sys.argv[1], "w") as file:
    file.write(f"{os.getpid()} {child.pid}\\n")
time.sleep(600)
"""
GATED = """
process: gated
version: 1
steps:
  - id: one
    action: read_text
    with: {{ path: a.txt }}
    gates:
      - command: {{ run: ['{python}', '{program}', '{pids}'] }}
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[EffectsWorld]:
    yield from effects_world.opened(tmp_path)


def gated(world: EffectsWorld) -> list[int]:
    """Have a gate run its program; the processes that it is."""
    program, pids = world.folder / "gate.py", world.folder / "pids"
    program.write_text(PROGRAM)
    text = GATED.format(python=sys.executable, program=program, pids=pids)
    (world.home.processes / "gated.yaml").write_text(text)
    world.up()
    world.begin("gated")
    until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    return [int(pid) for pid in pids.read_text().split()]


@pytest.mark.parametrize("how", ["down --kill", "SIGKILL", "down"])
def test_a_gates_program_ends_with_its_hub(world: EffectsWorld, how: str) -> None:
    pids = gated(world)
    assert all(map(alive, pids))

    if how == "SIGKILL":
        os.kill(world.pid, signal.SIGKILL)
    else:
        done = world.run(*how.split(), "--timeout", "2")
        assert done.returncode in (0, 3, 4), done.stderr

    until(lambda: not any(map(alive, pids)))


# Ends itself, as a kill at that moment would, when its program has been started: before the small
# process was told of it, or right after.
KILLED = """
import os, signal, sys
from cortex.runtime.code.programs import leash, run_program

def killed(self, group, *, held):
    if sys.argv[1] == "told":
        tell(self, group, held=held)
    with open(sys.argv[2], "w") as file:
        file.write(str(group))
    os.kill(os.getpid(), signal.SIGKILL)

tell, leash.Leash._tell = leash.Leash._tell, killed
run_program([sys.executable, *sys.argv[3:]], ".", 60.0)
"""


@pytest.mark.parametrize("moment", ["untold", "told"])
def test_a_program_that_nobody_holds_yet_never_begins(tmp_path: Path, moment: str) -> None:
    program, group, pids = tmp_path / "gate.py", tmp_path / "group", tmp_path / "pids"
    program.write_text(PROGRAM)

    done = subprocess.run(
        [sys.executable, "-c", KILLED, moment, group, program, pids], cwd=tmp_path, check=False
    )

    assert done.returncode == -signal.SIGKILL
    until(lambda: not alive(int(group.read_text())))
    assert not pids.exists()
