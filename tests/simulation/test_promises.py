"""Thousands of schedules of faults, and bugs planted on purpose that must show in them.

`CORTEX_SIM_SCHEDULES=20000 pytest tests/simulation` runs more of them, `CORTEX_SIM_SEED=4711`
only the one of that seed. What fails names its seed and shows the end of its trace.
"""

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from cortex.bus import Claimed, LeaseLostError
from cortex.runtime.kernel.simulator import Faults, PromiseBrokenError, simulate

from .executions import scenario
from .toy import TOY

SCHEDULES = int(os.environ.get("CORTEX_SIM_SCHEDULES", "2000"))
ENGINE_SCHEDULES = SCHEDULES // 10
ONLY = os.environ.get("CORTEX_SIM_SEED")
BLOCKS = 8  # so that several cores can share them
SEEDS_TO_FIND = 100  # a planted bug shows within so many
ALL_FAULTS = Faults(
    drop=0.1,
    duplicate=0.2,
    stray=0.1,
    write_fails=0.1,
    hub_crash_s=2.0,
    crash_s=1.0,
    start_fails=0.1,
    handler_fails=0.1,
    handler_exits=0.05,
    slow=0.2,
    hangs=0.02,
    renewal_lost=0.5,
)


@pytest.fixture(autouse=True, scope="module")
def _light_collections() -> Iterator[None]:
    # Or each collection would go through everything that the test run has loaded.
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def replay(seed: int) -> None:
    """Run one schedule; what breaks is told with the way back to it."""
    try:
        simulate(TOY, seed)
    except PromiseBrokenError as error:
        command = f"CORTEX_SIM_SEED={seed} pytest {os.path.relpath(__file__)}"
        pytest.fail(f"{error}\n\nAgain with: {command}", pytrace=False)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_promise_holds_in_every_schedule(block: int) -> None:
    seeds = [int(ONLY)] if ONLY else range(block, SCHEDULES, BLOCKS)
    if ONLY and block:
        pytest.skip("one seed is asked for")

    for seed in seeds:
        replay(seed)


def test_without_faults_nothing_is_done_twice() -> None:
    run = simulate(TOY, 1, Faults())

    handled = [r for r in run.records if r.source.startswith("Toy")]
    assert all(record.topic != "toy.late" for record in handled)
    assert run.steps < 400


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_real_engine_gets_every_execution_done(block: int) -> None:
    for seed in range(block, ENGINE_SCHEDULES, BLOCKS):
        simulate(scenario(), seed)


@pytest.mark.parametrize("seed", range(20))
def test_the_promises_hold_under_all_faults_at_once(seed: int) -> None:
    simulate(TOY, seed, ALL_FAULTS)


def test_one_seed_is_one_schedule() -> None:
    first, second = simulate(TOY, 42), simulate(TOY, 42)

    assert first.log.read(0, 9_999, 1 << 30) == second.log.read(0, 9_999, 1 << 30)
    assert first.steps == second.steps


def no_deduplication(turn: Any, client: str, request: Any) -> Any:
    return turn._take(client, request.events, request.due, request.forget)


def no_compare_and_set(turn: Any, client: str, request: Any) -> Any:
    standing = turn._standing(request.subscription, "ordered")
    answer = turn._take(client, request.events, request.due, request.forget)
    turn.batch.standings[standing.name] = msgspec.structs.replace(
        standing, cursor=request.through, attempts=0
    )
    return answer


def no_fencing(turn: Any, name: str, position: int, epoch: int) -> Any:
    queue = turn._known.queues.get(name)
    work = turn.batch.work.get((name, position)) or (queue.get(position) if queue else None)
    if work is None or (name, position) in turn._gone:
        raise LeaseLostError(name, position, epoch)
    return work


def claims_are_lost_with_a_failed_write(turn: Any) -> None:
    """Leave what was claimed out of the queue."""


def lapsed_leases_wake_nobody(queue: Any, now_ns: int) -> bool:
    return False


def an_empty_claim(turn: Any, request: Any) -> Any:
    return Claimed(())


@pytest.mark.parametrize(
    ("place", "bug"),
    [
        ("cortex.bus.turn.Turn.publish", no_deduplication),
        ("cortex.bus.turn.Turn.commit", no_compare_and_set),
        ("cortex.bus.turn.Turn._held", no_fencing),
        ("cortex.bus.turn.Turn.put_back", claims_are_lost_with_a_failed_write),
        ("cortex.bus.queue.WorkQueue.mature", lapsed_leases_wake_nobody),
        ("cortex.bus.turn.Turn.claim", an_empty_claim),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_bug_is_found(
    place: str, bug: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, bug)

    found = next((seed for seed in range(SEEDS_TO_FIND) if breaks(seed)), None)

    assert found is not None, f"{SEEDS_TO_FIND} schedules did not show it"


def breaks(seed: int) -> bool:
    try:
        simulate(TOY, seed)
    except PromiseBrokenError as error:
        return error.seed == seed and bool(error.trace)
    return False
