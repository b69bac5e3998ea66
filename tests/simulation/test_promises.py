"""Thousands of schedules of faults, and bugs planted on purpose that must show in them.

`CORTEX_SIM_SCHEDULES=20000 pytest tests/simulation` runs more of them, `CORTEX_SIM_SEED=4711`
only the one of that seed. What fails names its seed and shows the end of its trace.
"""

from collections.abc import Callable
from typing import Any

import pytest

from . import bugs
from .executions import scenario
from .replaying import (
    ALL_FAULTS,
    BLOCKS,
    ENGINE_SCHEDULES,
    TOY_SCHEDULES,
    found,
    light_collections,
    replay,
    seeds,
)
from .simulator import Faults, simulate
from .toy import TOY

__all__ = ["light_collections"]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_promise_holds_in_every_schedule(block: int) -> None:
    for seed in seeds(block, TOY_SCHEDULES):
        replay(TOY, seed)


def test_without_faults_nothing_is_done_twice() -> None:
    run = simulate(TOY, 1, Faults())

    handled = [r for r in run.records if r.source.startswith("Toy")]
    assert all(record.topic != "toy.late" for record in handled)
    assert run.steps < 400


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_real_engine_gets_every_execution_done(block: int) -> None:
    for seed in seeds(block, ENGINE_SCHEDULES):
        replay(scenario(), seed)


@pytest.mark.parametrize("seed", range(20))
def test_the_promises_hold_under_all_faults_at_once(seed: int) -> None:
    simulate(TOY, seed, ALL_FAULTS)


def test_one_seed_is_one_schedule() -> None:
    first, second = simulate(TOY, 42), simulate(TOY, 42)

    assert first.log.read(0, 9_999, 1 << 30) == second.log.read(0, 9_999, 1 << 30)
    assert first.steps == second.steps


@pytest.mark.parametrize(
    ("place", "bug"),
    [
        ("cortex.bus.hub.transaction.Transaction.publish", bugs.no_deduplication),
        ("cortex.bus.hub.transaction.Transaction.commit", bugs.no_compare_and_set),
        ("cortex.bus.hub.claiming.held_work", bugs.no_fencing),
        (
            "cortex.bus.hub.transaction.Transaction.put_back",
            bugs.claims_are_lost_with_a_failed_write,
        ),
        ("cortex.bus.hub.queue.WorkQueue.mature", bugs.lapsed_leases_wake_nobody),
        ("cortex.bus.hub.claiming.claim", bugs.an_empty_claim),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_bug_is_found(
    place: str, bug: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, bug)

    assert found(lambda: TOY)


@pytest.mark.parametrize(
    ("place", "bug"),
    [
        ("_is_ready", bugs.what_came_before_is_passed_over),
        ("dropped", bugs.what_was_not_written_counts),
    ],
    ids=["passed over", "not written"],
)
def test_a_planted_bug_of_who_is_asked_at_once_is_found(
    place: str, bug: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"cortex.runtime.kernel.shells.at_once.AtOnce.{place}", bug)

    assert found(scenario)
