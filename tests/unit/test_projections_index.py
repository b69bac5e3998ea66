"""The query index finds what a walk over the log finds."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import FORMAT, Batch, Recorded, Row, TopicGlob, encode
from cortex.runtime.log import MemoryLog
from cortex.runtime.projections import (
    EventIndex,
    Positions,
    Runner,
    Sought,
    find,
    snapshot,
    topics_in,
)

TOPICS = ["execution.started", "execution.completed", "executions.odd", "step.execute"]
EXECUTIONS = [None, "e1", "e2"]
SOURCES = ["planner", "worker"]
COUNT = 240


def record(n: int) -> Recorded:
    return Recorded(
        format=FORMAT,
        position=n,
        stream=f"s/{n % 5}",
        version=(n - 1) // 5 + 1,
        id=n.to_bytes(16, "big"),
        time_ns=n // 4 * 10,  # four events share a time
        topic=TOPICS[n * n % len(TOPICS) if n % 7 else n % 3],
        schema=1,
        correlation=EXECUTIONS[n % 3],
        causation=n // 10 or None,
        source=SOURCES[n % 11 % 2],
        key=None if n % 2 else f"k{n % 4}",
        subject=None,
        body=b"\x80",
    )


RECORDS = [record(n) for n in range(1, COUNT + 1)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, log = tmp_path_factory.mktemp("index") / "projections.db", MemoryLog()
    log.write(Batch(rows=[Row(r.position, r.stream, r.version, encode(r)) for r in RECORDS]))
    runner = Runner.open(path, [EventIndex()])
    runner.advance(log)
    runner.close()
    return path


def fits(
    record: Recorded, sought: Sought, matches: Callable[[str], bool], after: int, before: int
) -> bool:
    return (
        after < record.position < before
        and matches(record.topic)
        and (sought.correlation in (None, record.correlation))
        and (sought.causation in (None, record.causation))
        and (sought.source in (None, record.source))
        and (sought.key in (None, record.key))
    )


all_sought = st.builds(
    Sought,
    correlation=st.sampled_from(EXECUTIONS),
    causation=st.none() | st.integers(1, COUNT // 10),
    source=st.sampled_from([None, *SOURCES, "nobody"]),
    key=st.sampled_from([None, "k0", "k2"]),
)


@settings(max_examples=200, deadline=None)
@given(
    sought=all_sought,
    topic=st.sampled_from([None, *TOPICS, "none.such"]),
    limit=st.integers(1, 30),
    after=st.integers(0, COUNT),
    before=st.none() | st.integers(0, COUNT + 2),
    newest=st.booleans(),
)
def test_find_gives_what_a_walk_over_the_log_gives(
    path: Path,
    sought: Sought,
    topic: str | None,
    limit: int,
    after: int,
    before: int | None,
    newest: bool,
) -> None:
    walked = [
        r.position
        for r in RECORDS
        if fits(r, sought, lambda each: topic in (None, each), after, before or COUNT + 1)
        and before != 0
    ]

    with snapshot(path, "event_index") as view:
        found = find(view, sought, topic, limit=limit, after=after, before=before, newest=newest)
        assert view.position == COUNT

    assert found == (list(reversed(walked))[:limit] if newest else walked[:limit])


@settings(max_examples=100, deadline=None)
@given(
    sought=all_sought,
    patterns=st.lists(
        st.sampled_from(["*", "execution.*", "*.odd", "none.*", *TOPICS]), max_size=3
    ),
    after=st.integers(0, COUNT),
    before=st.integers(0, COUNT + 2),
    newest=st.booleans(),
)
def test_pages_of_several_topics_are_merged_in_order(
    path: Path, sought: Sought, patterns: list[str], after: int, before: int, newest: bool
) -> None:
    matches = TopicGlob(patterns).matches
    walked = [r.position for r in RECORDS if fits(r, sought, matches, after, before)]

    with pytest.MonkeyPatch.context() as patch:  # or a page would hold all of them
        patch.setattr("cortex.runtime.projections.index.FIRST_PAGE", 2)
        positions = Positions(path, sought, matches)
        found = list(positions.between(after, before, newest=newest))

    assert found == (walked[::-1] if newest else walked)
    assert positions.through == COUNT


def test_the_topics_that_there_are_come_sorted(path: Path) -> None:
    with snapshot(path, "event_index") as view:
        assert topics_in(view) == sorted({r.topic for r in RECORDS})


def test_the_names_on_disk_do_not_change() -> None:
    assert (EventIndex.name, EventIndex.version) == ("event_index", 2)
