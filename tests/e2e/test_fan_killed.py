"""Kill -9 at seeded random points of steps with many items: nothing is lost, doubled or reordered.

`CORTEX_FAN_KILLS` kills more often (4 unless given) and `CORTEX_FAN_ITEMS` makes the steps larger
(200 items each); `CORTEX_FAN_SEED` takes other points, and `CORTEX_FAN_REPORT=FILE` adds the
figures to FILE. `make fan-kills` kills 100 times in steps of 1,000 items.
"""

import os
import random
import signal
import subprocess
import sys
import time
from bisect import bisect_left
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from cortex.bus import Event, Recorded, decode
from cortex.bus.events import (
    VOCABULARY,
    EffectUnknown,
    ExecutionCompleted,
    StepCompleted,
    StepDelegated,
    StepExecute,
)
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog
from cortex.testing import replay

from .fan_world import ACTIONS, AT_ONCE

pytestmark = pytest.mark.once  # many kills of the same code

PROGRAM = Path(__file__).with_name("fan_world.py")
KILLS = int(os.environ.get("CORTEX_FAN_KILLS", "4"))
ITEMS = int(os.environ.get("CORTEX_FAN_ITEMS", "200"))
SEED = os.environ.get("CORTEX_FAN_SEED", "13")
REPORT = os.environ.get("CORTEX_FAN_REPORT", "")
EVENTS_AN_ITEM = 7  # about: some have a question
CAP_S = 10.0
LOOK_S = 0.001
PATIENCE_S = 300.0


class Lives:
    """One home, whose runtime is killed again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.heads: list[int] = []  # of the log, after each kill
        self._dice = random.Random(SEED)
        self._log_path = Home.create(folder / ".cortex").log_path
        EventLog.open(self._log_path).close()
        for name in ACTIONS:
            (folder / name).mkdir()

    def kill_one(self) -> None:
        """One life, to its violent end."""
        runtime = self._start()
        log = EventLog.open(self._log_path, readonly=True)
        # So that about nine in ten of the items are done when the last of them is killed.
        most = max(2, round(1.8 * len(ACTIONS) * ITEMS * EVENTS_AN_ITEM / KILLS))
        position, until = log.state().head + self._dice.randrange(most), time.monotonic() + CAP_S
        while time.monotonic() < until and not log.read(position, 1, 1):
            if runtime.poll() is not None:
                break
            time.sleep(LOOK_S)
        runtime.send_signal(signal.SIGKILL)
        runtime.wait()
        self.heads.append(log.state().head)
        log.close()

    def finish(self) -> None:
        """The last life."""
        runtime = self._start()
        assert runtime.wait(PATIENCE_S) == 0, (self.folder / "said").read_text()[-4_000:]

    def records(self) -> list[tuple[Recorded, Event]]:
        """Everything that was recorded; the log is whole."""
        log = EventLog.open(self._log_path, readonly=True)
        verified = log.verify()
        found = [decode(data) for data in log.read(0, verified + 1, 1 << 32)]
        log.close()
        return [(each, VOCABULARY.read(each)) for each in found if each.topic in VOCABULARY]

    def life_of(self, position: int) -> int:
        """The life in which a position was written."""
        return bisect_left(self.heads, position) + 1

    def _start(self) -> subprocess.Popen[bytes]:
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen(
                [sys.executable, PROGRAM, self.folder, str(ITEMS)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )


class Figures(msgspec.Struct, kw_only=True):
    """What one run showed."""

    kills: int
    items: int
    events: int
    questions: int
    most_questions: int  # after one kill
    repeated: int  # effects under a key that were begun again after a kill
    took_s: float


@pytest.mark.timeout(0)
def test_kills_neither_lose_nor_double_an_item_nor_change_the_order(tmp_path: Path) -> None:
    began_s = time.monotonic()
    lives = Lives(tmp_path)

    for _ in range(KILLS):
        lives.kill_one()
    lives.finish()

    records = lives.records()
    ends = {e.execution_id: e for _, e in records if isinstance(e, ExecutionCompleted)}
    wanted = [{"n": n} for n in range(ITEMS)]
    assert {name: ends[name].outputs["results"] for name in ACTIONS} == dict.fromkeys(
        ACTIONS, wanted
    )
    assert _keyed(tmp_path) == Counter(range(ITEMS))
    assert _single(tmp_path) == dict.fromkeys(range(ITEMS), 1)
    assert _begun_twice(records) == []
    assert _answered_twice(records) == []
    questions = Counter(
        lives.life_of(record.position) for record, e in records if isinstance(e, EffectUnknown)
    )
    assert max(questions.values(), default=0) <= AT_ONCE
    replay(tmp_path / ".cortex")
    if REPORT:
        _note(lives, records, questions, time.monotonic() - began_s)


def _keyed(folder: Path) -> Counter[int]:
    """Under how many keys the effect of each item happened."""
    return Counter(int(path.read_text()) for path in (folder / "keyed").iterdir())


def _single(folder: Path) -> dict[int, int]:
    """How often the effect of each item happened."""
    lines = {p.name: p.read_text().count("\n") for p in (folder / "single").iterdir()}
    return {int(name): count for name, count in sorted(lines.items(), key=lambda e: int(e[0]))}


def _begun_twice(records: list[tuple[Recorded, Event]]) -> list[tuple[str, int]]:
    """Items of which more than one execution was begun."""
    begun = Counter(
        (event.execution_id, event.item)
        for _, event in records
        if isinstance(event, StepDelegated) and event.item
    )
    missing = {(name, n) for name in ACTIONS for n in range(1, ITEMS + 1)} - begun.keys()
    return sorted({item for item, count in begun.items() if count > 1} | missing)


def _answered_twice(records: list[tuple[Recorded, Event]]) -> list[str]:
    """Steps that completed more than once."""
    done = Counter(e.execution_id for _, e in records if isinstance(e, StepCompleted))
    return sorted(each for each, count in done.items() if count > 1)


def _note(
    lives: Lives,
    records: list[tuple[Recorded, Event]],
    questions: Counter[int],
    took_s: float,
) -> None:
    asked = {
        e.execution_id: lives.life_of(r.position) for r, e in records if isinstance(e, StepExecute)
    }
    repeated = sum(
        asked[event.execution_id] < lives.life_of(record.position)
        for record, event in records
        if isinstance(event, StepCompleted) and event.execution_id in asked
    )
    figures = Figures(
        kills=len(lives.heads),
        items=len(ACTIONS) * ITEMS,
        events=len(records),
        questions=sum(questions.values()),
        most_questions=max(questions.values(), default=0),
        repeated=repeated,
        took_s=round(took_s, 1),
    )
    with Path(REPORT).open("ab") as report:
        report.write(msgspec.json.encode(figures) + b"\n")
