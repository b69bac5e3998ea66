"""Which schedules are run, and how one that breaks something is told."""

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from .simulator import Faults, PromiseBrokenError, Scenario, simulate

SCHEDULES = int(os.environ.get("CORTEX_SIM_SCHEDULES", "3000"))  # of all worlds together
# Of the larger worlds so many, that they take about as long as those of the clients.
TOY_SCHEDULES = SCHEDULES // 25
ENGINE_SCHEDULES = SCHEDULES // 100
CLIENT_SCHEDULES = SCHEDULES - TOY_SCHEDULES - ENGINE_SCHEDULES
ONLY = os.environ.get("CORTEX_SIM_SEED")
BLOCKS = 8
SEEDS_TO_FIND = 600  # a planted bug shows within so many; the rarest in about one of 100
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
    stall_s=2.0,
    partition_s=1.0,
    tail_lost=0.5,
)


@pytest.fixture(autouse=True, scope="module")
def light_collections() -> Iterator[None]:
    # Or each collection would go through everything that the test run has loaded.
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def seeds(block: int, schedules: int) -> Sequence[int]:
    """The seeds of one block; where one is asked for, the first block has it."""
    if ONLY:
        return [] if block else [int(ONLY)]
    return range(block, schedules, BLOCKS)


def replay(world: Scenario, seed: int) -> None:
    """Run one schedule; what breaks is told with the way back to it."""
    try:
        simulate(world, seed)
    except PromiseBrokenError as error:
        command = f"CORTEX_SIM_SEED={seed} pytest {os.path.relpath(Path(__file__).parent)}"
        pytest.fail(f"{error}\n\nAgain with: {command}", pytrace=False)


def breaks(world: Scenario, seed: int, faults: Faults | None = None) -> bool:
    """Whether a schedule shows that something is wrong."""
    try:
        simulate(world, seed, faults)
    except PromiseBrokenError as error:
        return error.seed == seed and bool(error.trace)
    return False


def found(world: Callable[[], Scenario], faults: Faults | None = None) -> bool:
    """Whether a bug that was planted shows soon, in a *world* that is new for each schedule."""
    return any(breaks(world(), seed, faults) for seed in range(SEEDS_TO_FIND))
