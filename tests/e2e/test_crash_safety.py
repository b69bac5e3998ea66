"""Kill -9 at seeded random points of running executions, resume, and nothing shows it.

`CORTEX_CRASH_SEED` replays the points of a run; `CORTEX_SOAK=1` kills 1,000 times instead of 100.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog

from .crash_evidence import Evidence
from .crash_world import NOTES

PROGRAM = Path(__file__).with_name("crash_world.py")
SEED = os.environ.get("CORTEX_CRASH_SEED", "20")
KILLS = {"busy": 70, "thinking": 30}
SERIES = range(10 if os.environ.get("CORTEX_SOAK") else 1)
LOOK_S = 0.003  # between two looks at the log of the runtime that is to be killed
CAP_S = 10.0  # the log need not grow as far as the dice say
PATIENCE_S = 120.0


class Killer:
    """Starts a runtime on one home again and again, and kills it at moments that dice choose."""

    def __init__(self, folder: Path, world: str, seed: str) -> None:
        self.folder, self.world = folder, world
        self.heads: list[int] = []  # of the log, after each kill
        self._dice = random.Random(seed)
        self._groups: set[int] = set()  # process groups of the runtimes that were killed
        self._log_path = Home.create(folder / ".cortex").log_path
        EventLog.open(self._log_path).close()
        (folder / "notes.txt").write_text(NOTES)
        (folder / "effects").mkdir()

    def kill_one(self) -> None:
        """One life, to its violent end."""
        head = self.heads[-1] if self.heads else 0
        runtime = self._start("publish")
        # No reader stays: the next life is to find the files as a killed owner leaves them.
        log = EventLog.open(self._log_path, readonly=True)
        if self._dice.random() < 0.3:
            self._await(runtime, self._dice.uniform(0.1, 1.8))
        else:
            self._await(runtime, CAP_S, log, head + self._dice.randint(0, 200))
        runtime.send_signal(signal.SIGKILL)
        ended = runtime.wait()
        self.heads.append(log.state().head)
        log.close()
        assert ended == -signal.SIGKILL, self._said()

    def finish(self) -> None:
        """The last life: it publishes nothing more, and ends when all executions are over."""
        runtime = self._start("finish")
        assert runtime.wait(PATIENCE_S) == 0, self._said()
        until = time.monotonic() + PATIENCE_S
        while any(map(_is_alive, self._groups)):
            assert time.monotonic() < until, "processes outlive the runtime that spawned them"
            time.sleep(LOOK_S)

    def _start(self, mode: str) -> subprocess.Popen[bytes]:
        life = str(len(self.heads) + 1)
        with (self.folder / "said").open("ab") as said:
            runtime = subprocess.Popen(
                [sys.executable, PROGRAM, self.folder, self.world, life, mode],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,  # what it spawns is known by the group then
            )
        self._groups.add(runtime.pid)
        return runtime

    def _await(
        self,
        runtime: subprocess.Popen[bytes],
        wait_s: float,
        log: EventLog | None = None,
        position: int = 0,
    ) -> None:
        until = time.monotonic() + wait_s
        while time.monotonic() < until and not (log and log.read(position, 1, 1)):
            assert runtime.poll() is None, self._said()
            time.sleep(LOOK_S)

    def _said(self) -> str:
        return (self.folder / "said").read_text(errors="replace")[-4_000:]


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("world", KILLS)
def test_a_runtime_that_is_killed_at_any_point_goes_on_as_if_it_had_not_been(
    world: str, series: int, tmp_path: Path
) -> None:
    print(f"replay the points of these kills with CORTEX_CRASH_SEED={SEED}")
    began = time.monotonic()
    killer = Killer(tmp_path, world, f"{SEED}/{world}/{series}")

    for _ in range(KILLS[world]):
        killer.kill_one()
    killer.finish()

    took_s = time.monotonic() - began
    evidence = Evidence.of(tmp_path, world, killer.heads)
    print(
        f"{world} {series}: {len(killer.heads)} kills, {len(evidence.executions())} executions, "
        f"{evidence.verified:,} events, {len(evidence.runs):,} runs of handlers of which "
        f"{evidence.repeated_runs()} again after a kill, {took_s:.0f} s"
    )
    assert evidence.unordered() == []
    assert evidence.lost_or_doubled_publishes() == []
    assert evidence.misnamed() == []
    assert evidence.doubled_records() == []
    assert evidence.doubled_answers() == []
    assert evidence.unanswered_models() == []
    assert evidence.reruns() == []
    assert evidence.wrong_effects() == []
    assert evidence.wrong_outcomes() == []
    assert evidence.troubles() == []
