"""Clocks disagree: which memory is current is defined by the log, and by times that are stated."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from cortex.bus.events import MemoryEdge, MemoryForget, MemoryRecord, MemoryRefused, MemoryRestore
from cortex.runtime.memory import Candidates, Decider, MemoryState, PastNodes, freshness

from .memory_world import DAY_NS, T0_NS, MemoryWorld, typed

FIRST, SECOND, THIRD = (f"The limit for uploads is now {size} MB" for size in (150, 200, 900))
YEAR_NS = 365 * DAY_NS


class Finding(MemoryWorld):
    """Memory that finds what a record replaces, as that of a runtime does."""

    def __init__(self) -> None:
        super().__init__()
        self.begin_again(MemoryState())

    def begin_again(self, state: MemoryState) -> None:
        self.decider = Decider(state, Candidates(state), PastNodes(self.stream))

    def restart(self) -> None:
        """Fold all facts again, as after a start without a snapshot."""
        state = MemoryState()
        for record, fact in zip(self.records, typed(self.records), strict=True):
            state.apply(fact, record.subject or "", record.position)
        self.begin_again(state)


def current(world: MemoryWorld) -> set[str]:
    return {node.content for node, _ in world.view().listed(limit=1_000)}


def test_of_two_without_a_stated_time_the_later_in_the_log_is_current() -> None:
    world = Finding()
    world.record(FIRST)
    world.since_ns -= 10 * YEAR_NS  # the clock was set back

    world.record(SECOND)

    assert current(world) == {SECOND}


def test_of_two_stated_times_the_later_is_current_in_whichever_order_they_come() -> None:
    world = Finding()
    world.record(FIRST, happened_ns=T0_NS - 9 * YEAR_NS)
    world.record(SECOND, happened_ns=T0_NS - YEAR_NS)
    world.restart()

    world.record(THIRD, happened_ns=T0_NS - 4 * YEAR_NS)  # late news of the time between

    assert current(world) == {SECOND, THIRD}  # it replaces nothing later, and is not hidden
    world.record("The limit for uploads is now 50 MB", happened_ns=T0_NS)
    assert SECOND not in current(world)


@pytest.mark.parametrize(("first", "second"), [(0, T0_NS - YEAR_NS), (T0_NS + DAY_NS, 0)])
def test_where_one_time_is_not_stated_the_order_of_the_log_decides(first: int, second: int) -> None:
    world = Finding()
    world.record(FIRST, happened_ns=first)
    world.restart()

    world.record(SECOND, happened_ns=second)

    assert current(world) == {SECOND}


def test_a_restored_memory_is_so_since_the_time_that_was_stated() -> None:
    world = Finding()
    node_id = world.record(SECOND, happened_ns=T0_NS - YEAR_NS)
    world.ask(MemoryForget(node_id=node_id))
    world.ask(MemoryRestore(node_id=node_id))
    world.restart()

    world.record(FIRST, happened_ns=T0_NS - 2 * YEAR_NS)

    assert current(world) == {SECOND, FIRST}


def test_a_given_edge_holds_whatever_the_times_say() -> None:
    world = Finding()
    newer = world.record(SECOND, happened_ns=T0_NS)

    world.record(FIRST, happened_ns=T0_NS - YEAR_NS, edges=(MemoryEdge("supersedes", newer),))

    assert current(world) == {FIRST}


def test_a_time_to_come_is_taken_for_a_day_and_refused_beyond() -> None:
    world = Finding()
    now_ns = T0_NS + DAY_NS  # of the first record
    asked = MemoryRecord(kind="observation", content=FIRST, origin="person")

    (refused,) = world.ask(replace(asked, happened_ns=now_ns + DAY_NS + 1))
    world.record(FIRST, happened_ns=now_ns + 2 * DAY_NS)  # a day ahead, by now
    world.record(SECOND, happened_ns=now_ns + DAY_NS)  # by a clock that is right
    both = current(world)
    world.record(THIRD)

    assert isinstance(refused, MemoryRefused)
    assert "more than a day ahead of the log's clock" in refused.reason
    assert both == {FIRST, SECOND}
    assert current(world) == {THIRD}


def test_what_is_of_a_time_to_come_is_as_fresh_as_what_is_of_now() -> None:
    assert freshness(-3.0, 0) == freshness(0.0, 0) == 1.0


@given(jumps=st.lists(st.integers(-5, 5), min_size=1, max_size=12))
@settings(max_examples=50, deadline=None)
def test_jumps_of_the_clock_change_nothing_of_what_is_current(jumps: list[int]) -> None:
    steady, jumping = Finding(), Finding()
    for number, years in enumerate(jumps):
        jumping.since_ns += years * YEAR_NS
        for world in (steady, jumping):
            world.record((FIRST, SECOND, THIRD)[number % 3])
            world.record(f"Rack {number} is in room {abs(years)}")

    assert current(jumping) == current(steady)
    jumping.restart()
    assert jumping.decider.state.said == steady.decider.state.said
