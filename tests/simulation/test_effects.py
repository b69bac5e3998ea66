"""Schedules in which effects are under way when their process, their hub or its log's tail goes.

`CORTEX_SIM_SCHEDULES=20000 pytest tests/simulation` runs more of them, `CORTEX_SIM_SEED=4711`
only the one of that seed. What fails names its seed and shows the end of its trace.
"""

from typing import Any

import pytest

from . import bugs
from .effects import scenario
from .replaying import (
    ALL_FAULTS,
    BLOCKS,
    ENGINE_SCHEDULES,
    found,
    light_collections,
    replay,
    seeds,
)
from .simulator import Faults, simulate

__all__ = ["light_collections"]

LOSING = Faults(hub_crash_s=0.5, tail_lost=1.0)
SLOW = Faults(hub_crash_s=1.0, tail_lost=1.0, slow=0.5, disk_s=0.5)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_effect_happens_more_often_than_it_may(block: int) -> None:
    for seed in seeds(block, ENGINE_SCHEDULES):
        replay(scenario(), seed)


def test_nor_does_one_under_all_faults_at_once() -> None:
    for seed in range(10):
        simulate(scenario(), seed, ALL_FAULTS)


@pytest.mark.parametrize("faults", [LOSING, SLOW], ids=["losing", "slow"])
def test_nor_where_the_log_loses_its_tail_all_the_time(faults: Faults) -> None:
    for seed in range(20):
        simulate(scenario(), seed, faults)


@pytest.mark.parametrize(
    ("place", "bug", "faults"),
    [
        (
            "cortex.runtime.kernel.shells.workers.intend",
            bugs.effects_are_begun_without_a_word,
            None,
        ),
        (
            "cortex.runtime.log.agent_work.AgentWork.refuse_begun",
            bugs.intents_are_taken_twice,
            None,
        ),
        ("cortex.runtime.kernel.shells.workers.try_once", bugs.what_was_begun_is_begun_again, None),
        ("cortex.runtime.kernel.shells.feed.Feeding.keyed", bugs.keys_of_what_may_be_lost, LOSING),
        ("cortex.runtime.kernel.shells.ordered._taken_up", bugs.a_lost_commit_is_not_noticed, SLOW),
    ],
    ids=["no intent", "two intents", "begun again", "keys that are lost", "lost commit"],
)
def test_a_planted_bug_is_found(
    place: str, bug: Any, faults: Faults | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, bug)

    assert found(scenario, faults)
