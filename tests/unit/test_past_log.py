"""A past log answers as the log did when it ended there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.bus import Batch, Publish
from cortex.runtime.log import LogAccessError, MemoryLog, PastLog

from .bus_world import HubWorld, draft

PLANS = st.lists(st.sampled_from(["one", "two", "three"]), max_size=30)


def answers(log: MemoryLog | PastLog) -> object:
    """Whatever a reader can ask."""
    state = log.state()
    streams = [f"plan/{name}" for name in ("one", "two", "three", "none")]
    return (
        (state.head, state.time_ns),
        [bytes(data) for data in log.read(0, 1_000, 1 << 20)],
        [bytes(data) for data in log.read(2, 3, 1 << 20)],
        [[bytes(data) for data in log.read_stream(each, 0, 1_000)] for each in streams],
        [[bytes(data) for data in log.read_stream(each, 1, 2)] for each in streams],
        [log.stream_version(each) for each in streams],
        log.leaf_hashes(1, state.head),
    )


@given(PLANS, PLANS)
def test_it_answers_as_the_log_did_before_it_grew(before: list[str], after: list[str]) -> None:
    world = HubWorld()
    for plan in before:
        world.one(Publish((draft(plan),)))
    then, asked = world.log.state().head, answers(world.log)
    world.later(60)
    for plan in after:
        world.one(Publish((draft(plan),)))

    past = PastLog(world.log, then)

    assert answers(past) == asked
    assert past.state().standings == []


def test_it_cannot_be_written() -> None:
    with pytest.raises(LogAccessError, match="it can only be read"):
        PastLog(MemoryLog(), 0).write(Batch())
