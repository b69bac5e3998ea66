"""Thousands of schedules of clients at the end of a wire: cut off, killed, answered twice or never.

`CORTEX_SIM_SCHEDULES=20000 pytest tests/simulation` runs more of them, `CORTEX_SIM_SEED=4711`
only the one of that seed. What fails names its seed and shows the end of its trace.
"""

from collections.abc import Callable
from typing import Any

import pytest

from . import bugs
from .errands import ERRANDS
from .replaying import (
    ALL_FAULTS,
    BLOCKS,
    CLIENT_SCHEDULES,
    found,
    light_collections,
    replay,
    seeds,
)
from .simulator import Faults, simulate

__all__ = ["light_collections"]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_promise_holds_in_every_schedule(block: int) -> None:
    for seed in seeds(block, CLIENT_SCHEDULES):
        replay(ERRANDS, seed)


def test_the_promises_hold_under_all_faults_at_once() -> None:
    for seed in range(20):
        simulate(ERRANDS, seed, ALL_FAULTS)


def test_a_client_that_is_always_cut_off_gets_there_when_it_is_not() -> None:
    for seed in range(5):
        simulate(ERRANDS, seed, Faults(lasting_s=5.0, partition_s=0.05, stall_s=0.5))


def test_without_faults_every_follower_is_shown_everything() -> None:
    run = simulate(ERRANDS, 1, Faults())

    assert [*run.followed["carol"]] == list(range(1, 13))


def test_followers_are_told_of_what_the_log_has_lost() -> None:
    losing = Faults(lasting_s=8.0, hub_crash_s=1.0, tail_lost=1.0)

    assert sum(simulate(ERRANDS, seed, losing).losses for seed in range(20)) >= 10


@pytest.mark.parametrize(
    ("place", "bug"),
    [
        ("cortex.bus.hub.transaction.Transaction.publish", bugs.no_deduplication),
        ("cortex.bus.hub.transaction.Transaction.commit", bugs.no_compare_and_set),
        ("cortex.bus.hub.claiming.held_work", bugs.no_fencing),
        ("cortex.bus.hub.idempotency.kept", bugs.frames_are_done_again),
        ("cortex.bus.hub.idempotency.kept", bugs.only_the_newest_frame_is_known),
        ("cortex.bus.hub.pages.Pages._with_ring", bugs.a_page_forgets_its_last),
        ("cortex.bus.hub.hub_state.HubState.refuse_lost", bugs.a_lost_tail_is_not_noticed),
        ("cortex.bus.epochs.last_common", bugs.a_lost_tail_leaves_its_last),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_bug_is_found(
    place: str, bug: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, bug)

    assert found(lambda: ERRANDS)
