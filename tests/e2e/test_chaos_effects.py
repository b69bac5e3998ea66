"""No effect that may happen once happens twice, and no follower sees a mixture, whoever is killed.

Hub, commands, workers, plugins, programs, spawned components, tool servers, watchers and followers
are killed again and again while executions pass, each in the middle of an effect; one or the other
is stopped and goes on; the power fails, which takes the newest commits with it down to the last
that was synced. `CORTEX_EFFECT_KILLS` makes it longer, `CORTEX_EFFECT_SEED` another one, and
`CORTEX_EFFECT_REPORT=FILE` adds the figures of each run to a file, and writes those of all runs in
it, in words, to FILE.txt. `make chaos` does 500 kills in ten homes for each durability.
"""

import os
import random
import time
from pathlib import Path

import msgspec
import pytest

from .chaos_effects import STRUCK, Chaos, dealt
from .chaos_follower import Follower, read
from .chaos_verdict import Verdict, judged, summed

pytestmark = pytest.mark.once  # many kills of the same code

KILLS = int(os.environ.get("CORTEX_EFFECT_KILLS", "10"))  # half of them with each durability
SEED = os.environ.get("CORTEX_EFFECT_SEED", "12")
REPORT = os.environ.get("CORTEX_EFFECT_REPORT", "")
AT_ONCE = 4  # executions asked for before each kill
ANSWERED = 25  # kills after which a person answers


def test_twenty_kills_strike_everybody() -> None:
    assert {*victims("full", 20), *victims("normal", 20)} == STRUCK.keys()
    assert "power" in victims("normal", 20)


def victims(durability: str, kills: int) -> list[str]:
    """Whom the kills of one run strike; what is left over by the one comes first in the other."""
    cards = dealt(SEED, max(kills, len(STRUCK)))[: len(STRUCK)]
    more = dealt(f"{SEED}/{durability}", kills)
    return [*(cards if durability == "full" else reversed(cards)), *more][: kills // 2]


@pytest.mark.timeout(0)
@pytest.mark.parametrize("durability", ["full", "normal"])
def test_nothing_that_may_happen_once_happens_twice_whoever_is_killed(
    tmp_path: Path, durability: str
) -> None:
    began_s = time.monotonic()
    chaos = Chaos(tmp_path, durability, random.Random(f"{SEED}/{durability}"))
    follower = Follower(chaos.world.home)
    try:
        chaos.start()
        follower.start()
        for kill, victim in enumerate(victims(durability, KILLS), start=1):
            chaos.ask(AT_ONCE)
            chaos.strike(victim)
            if kill % ANSWERED == 0:
                chaos.settle()
        chaos.end()
    finally:
        follower.end()
        chaos.world.close()

    verdict = Verdict(
        durability, SEED, round(time.monotonic() - began_s, 1), chaos.kills, chaos.in_the_middle
    )
    judged(chaos, verdict, [follower.followed, read(tmp_path / "followed")])
    if REPORT:
        with Path(REPORT).open("ab") as report:
            report.write(msgspec.json.encode(verdict) + b"\n")
        lines = Path(REPORT).read_bytes().splitlines()
        runs = [msgspec.json.decode(line, type=Verdict) for line in lines]
        Path(f"{REPORT}.txt").write_text(summed(runs))
    assert verdict.wrong == []
