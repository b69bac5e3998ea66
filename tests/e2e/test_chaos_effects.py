"""No effect that may happen once happens twice, and no follower sees a mixture, whoever is killed.

Hub, worker, programs, spawned components and tool servers are killed again and again while
executions pass; the hub is stopped and goes on; the power fails, which takes the newest commits
with it down to the last that was synced. `CORTEX_EFFECT_KILLS` makes it longer.
"""

import os
import random
from contextlib import closing
from pathlib import Path

import pytest

from cortex.bus import Recorded, decode
from cortex.runtime.log import EventLog

from .chaos_effects import ONCE, Chaos, Mirror

KILLS = int(os.environ.get("CORTEX_EFFECT_KILLS", "20"))  # half of them with each durability
SEED = int(os.environ.get("CORTEX_EFFECT_SEED", "12"))
AT_ONCE = 4  # executions asked for before each kill
VICTIMS = ("hub", "whole", "child", "worker", "stop", "power")


@pytest.mark.timeout(0)
@pytest.mark.parametrize("durability", ["full", "normal"])
def test_nothing_that_may_happen_once_happens_twice_whoever_is_killed(
    tmp_path: Path, durability: str
) -> None:
    chance = random.Random(f"{SEED}/{durability}")
    chaos = Chaos(tmp_path, durability, chance)
    mirror = Mirror(chaos.world)
    # A power cut under "full" takes nothing: each commit was synced before it was acknowledged.
    victims = [v for v in VICTIMS if v != "power" or durability == "normal"]
    try:
        chaos.start()
        mirror.start()
        for kill in range(KILLS // 2):
            chaos.ask(AT_ONCE)
            chaos.wait_a_moment()
            chaos.strike(victims[kill % len(victims)])
        states = chaos.settle()
        chaos.world.run("down")
    finally:
        mirror.end()
        chaos.world.close()

    for asked in chaos.asked:
        status, times = states[asked.execution_id].status, asked.begun()
        if asked.kind in ONCE:
            assert times <= 1, (asked, status)
        if asked.kind == "stored":
            assert times == (status == "completed"), (asked, status)
        if durability == "full":  # nothing that was acknowledged is lost
            # While its worker is away a process is unlinked, and a request for it is refused.
            refused = (asked.kind, status, times) == ("far", "failed", 0)
            assert refused or status in ("completed", "halted"), (asked, status)
    assert mirror.mixed == []
    assert mirror.held == {p: r for p, r in whole(chaos).items() if p <= max(mirror.held)}
    assert bool(mirror.lost) <= bool(sum(cut.lost for cut in chaos.cuts))
    (tmp_path / "summary").write_text(f"{chaos.kills} {chaos.cuts} {mirror.lost}\n")


def whole(chaos: Chaos) -> dict[int, Recorded]:
    """Every event of the log, by position."""
    with closing(EventLog.open(chaos.world.home.log_path, readonly=True)) as log:
        assert log.verify() == log.state().head
        after = 0
        found: dict[int, Recorded] = {}
        while page := log.read(after, 1_024, 4 << 20):
            for record in map(decode, page):
                found[record.position] = record
                after = record.position
    return found
