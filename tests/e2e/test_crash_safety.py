"""Kill -9 at seeded random points of running executions, resume, and nothing shows it.

A test's name holds the seed of its points; `CORTEX_CRASH_SEED` takes another. There are 10 kills,
or as many as `CORTEX_CRASH_KILLS` says. `CORTEX_SOAK=FILE` kills ten times as often, and adds the
figures to FILE.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog
from cortex.testing import replay

from .crash_evidence import Evidence
from .crash_world import NOTES

pytestmark = pytest.mark.once  # many kills of the same code

PROGRAM = Path(__file__).with_name("crash_world.py")
SEED = os.environ.get("CORTEX_CRASH_SEED", "20")
KILLED = int(os.environ.get("CORTEX_CRASH_KILLS", "10"))
KILLS = {"busy": KILLED * 7 // 10, "thinking": KILLED * 3 // 10}
SOAK = os.environ.get("CORTEX_SOAK", "")
LOOK_S = 0.001  # between two looks at what the runtime that is to be killed has done
CAP_S = 10.0  # it need not do as much as the dice say
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
        runtime = self._start("publish")
        # No reader stays: the next life is to find the files as a killed owner leaves them.
        log = EventLog.open(self._log_path, readonly=True)
        self._await(runtime, self._moment(log))
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
        while _are_alive(self._groups):
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

    def _moment(self, log: EventLog) -> Callable[[], bool]:
        """Whether the time has come to kill the runtime that has just been started."""
        dice, effects = self._dice, self.folder / "effects"
        kind = dice.choices(("time", "log", "runs", "effects"), (15, 40, 25, 20))[0]
        if kind == "time":  # most of these are still starting
            at = time.monotonic() + dice.uniform(0.05, 1.5)
            return lambda: time.monotonic() > at
        if kind == "log":
            position = log.state().head + dice.randrange(120)
            return lambda: bool(log.read(position, 1, 1))
        if kind == "runs":  # of handlers: what they have done is not yet said
            lines = self._runs() + dice.randint(1, 15)
            return lambda: self._runs() >= lines
        files = len(list(effects.iterdir())) + dice.randint(1, 4)
        return lambda: len(list(effects.iterdir())) >= files  # they happened, nobody knows yet

    def _await(self, runtime: subprocess.Popen[bytes], come: Callable[[], bool]) -> None:
        until = time.monotonic() + CAP_S
        while time.monotonic() < until and not come():
            assert runtime.poll() is None, self._said()
            time.sleep(LOOK_S)

    def _runs(self) -> int:
        path = self.folder / "runs"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def _said(self) -> str:
        return (self.folder / "said").read_text(errors="replace")[-4_000:]


def _are_alive(groups: set[int]) -> bool:
    """Whether a process of these groups works on; one that only waits to be reaped does not."""
    return any(group in groups and not state.startswith("Z") for group, state in _processes())


def _processes() -> Iterator[tuple[int, str]]:
    """Group and state of every process."""
    if Path("/proc/self/stat").exists():  # a small Linux has no `ps`
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # it has just ended
                state, _, group = path.read_text().rpartition(")")[2].split()[:3]
                yield int(group), state
        return
    shown = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, check=True)
    for line in shown.stdout.splitlines():
        group, state = line.decode().split()
        yield int(group), state


def _note(evidence: Evidence, took_s: float) -> None:
    """Add the figures of one home to the file that a soak is recorded in."""
    with Path(SOAK).open("a") as file:
        file.write(
            f"{evidence.world:8} {len(evidence.heads)} kills, "
            f"{len(evidence.executions()):,} executions, {evidence.verified:,} events, "
            f"{evidence.effects():,} effects, {len(evidence.runs):,} runs of handlers "
            f"({evidence.repeated_runs()} of them again after a kill), "
            f"{evidence.carried():,} steps asked before a kill and answered after it, "
            f"{took_s:.0f} s\n"
        )


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [f"{SEED}-{n}" for n in range(10 if SOAK else 1)])
@pytest.mark.parametrize("world", KILLS)
def test_a_runtime_that_is_killed_at_any_point_goes_on_as_if_it_had_not_been(
    world: str, seed: str, tmp_path: Path
) -> None:
    began = time.monotonic()
    killer = Killer(tmp_path, world, f"{world} {seed}")

    for _ in range(KILLS[world]):
        killer.kill_one()
    killer.finish()

    evidence = Evidence.of(tmp_path, world, killer.heads)
    if SOAK:
        _note(evidence, time.monotonic() - began)
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
    replay(tmp_path / ".cortex")
