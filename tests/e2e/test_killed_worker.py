"""A worker that is killed: its step goes to another at once, whatever its lease."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..waiting import until
from .up_world import STUCK_S, Desk, opened

pytestmark = pytest.mark.once  # long waits, and commands that others run from the wheel

STEPS = """
import os, time
from collections.abc import Iterator
from pathlib import Path
from cortex.bus.events import StepCompleted, StepExecute
from cortex.runtime.kernel import Component, Delivery, Serves, on


class Long(Component):
    workers = 1
    lease_s = 3_600.0  # longer than any test: no other gets it because it lapsed
    serves = (Serves("action", "long", effect="idempotent"),)

    @on(StepExecute, where={"action": "long"})
    def long(self, event: StepExecute, delivery: Delivery) -> Iterator[StepCompleted]:
        if delivery.attempt == 1:
            Path("held").write_text(str(os.getpid()))
            time.sleep(600)
        yield StepCompleted(
            execution_id=event.execution_id, step_id=event.step_id, result={"pid": os.getpid()}
        )
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path) as desk:
        (desk.folder / "longer.py").write_text(STEPS)
        (desk.home.processes / "long.yaml").write_text(
            "process: long\nversion: 1\nsteps:\n  - { id: held, action: long }\n"
        )
        yield desk


def test_the_step_of_a_killed_worker_goes_to_another_at_once(desk: Desk) -> None:
    assert desk.run("up", "--background").returncode == 0
    desk.worker("longer:Long")
    desk.worker("longer:Long")
    running = desk.begin("run", "long")
    holder = int(until(lambda: (desk.folder / "held").exists() and _text(desk.folder / "held")))

    os.kill(holder, signal.SIGKILL)
    _, said = running.communicate(timeout=STUCK_S)

    assert running.returncode == 0, said


def test_that_the_only_worker_is_gone_is_said_long_before_its_lease_is_over(desk: Desk) -> None:
    assert desk.run("up", "--background").returncode == 0
    desk.worker("longer:Long")
    running = desk.begin("run", "long")
    holder = int(until(lambda: (desk.folder / "held").exists() and _text(desk.folder / "held")))

    os.kill(holder, signal.SIGKILL)
    told = until(lambda: [each for each in desk.topics() if each == "step.unclaimed"])

    assert len(told) == 1
    desk.worker("longer:Long")
    _, said = running.communicate(timeout=STUCK_S)
    assert running.returncode == 0, said
    assert "no component runs" in said


def _text(path: Path) -> str:
    return path.read_text()
