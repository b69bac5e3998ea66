"""A runtime that is killed again and again loses nothing, doubles nothing, and gets done."""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Recorded, as_map, decode
from cortex.runtime.log import EventLog

from .killing import Killed, kill_until_done

STARTED_IN_FULL = True  # it is about processes, from their start to their end

KILLS = int(os.environ.get("CORTEX_CRASH_KILLS", "20")) * 3 // 10
ORDERS = 400
STEPS = 4
PROGRAM = Path(__file__).parent / "spawned" / "toy_program.py"


def acknowledged(lines: list[str]) -> dict[int, int]:
    """Position by number, as the program was told."""
    found = [line.split() for line in lines if line.startswith("acknowledged ")]
    return {int(number): int(position) for _, number, position in found}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Killed]:
    home = tmp_path_factory.mktemp("killed") / "home"

    def command(lines: Any) -> list[str]:
        first = len(acknowledged(lines)) + 1
        return [sys.executable, str(PROGRAM), str(home), str(first), str(ORDERS), str(STEPS)]

    return home, kill_until_done(command, kills=KILLS, seed=4711, lines_most=20)


@pytest.fixture(scope="module")
def records(killed: tuple[Path, Killed]) -> list[Recorded]:
    home, _ = killed
    log = EventLog.open(home / "log.db")
    found = [decode(data) for data in log.read(0, 1 << 30, 1 << 40)]
    log.close()
    return found


def test_it_was_killed_often_enough(killed: tuple[Path, Killed]) -> None:
    assert killed[1].kills == KILLS


def test_every_acknowledged_event_is_there_once(
    killed: tuple[Path, Killed], records: list[Recorded]
) -> None:
    placed = [r for r in records if r.topic == "order.placed"]

    assert [as_map(r)["order"] for r in placed] == [str(n) for n in range(1, ORDERS + 1)]
    told = acknowledged(killed[1].lines)
    assert [told[number] for number in sorted(told)] == [r.position for r in placed]


def test_every_order_took_each_step_once_and_finished(records: list[Recorded]) -> None:
    asked = Counter(
        (r.stream, as_map(r)["step"]) for r in records if r.topic.endswith("step_asked")
    )
    done = Counter((r.stream, as_map(r)["step"]) for r in records if r.topic.endswith("step_done"))
    finished = Counter(r.stream for r in records if r.topic == "order.finished")

    orders = [f"order/{n}" for n in range(1, ORDERS + 1)]
    assert finished == dict.fromkeys(orders, 1)
    assert asked == done == {(o, s): 1 for o in orders for s in range(1, STEPS + 1)}
    assert not [r for r in records if r.topic in ("component.failed", "order.late")]


def test_no_effect_was_doubled_and_none_is_missing(
    killed: tuple[Path, Killed], records: list[Recorded]
) -> None:
    effects = (killed[0] / "effects.txt").read_text().splitlines()
    told = [as_map(r)["effect"] for r in records if r.topic == "order.step_done"]

    assert len(set(effects)) == len(effects) == ORDERS * STEPS
    assert sorted(effects) == sorted(told)


def test_the_log_is_whole_and_nothing_waits_in_it(
    killed: tuple[Path, Killed], records: list[Recorded]
) -> None:
    log = EventLog.open(killed[0] / "log.db")
    state, head = log.state(), log.verify()
    log.close()

    assert head == len(records)
    assert not state.work
    assert not state.deadlines
