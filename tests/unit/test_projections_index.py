"""The query index finds what a walk over the log finds."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import FORMAT, Batch, Recorded, Row, encode
from cortex.runtime.log import MemoryLog
from cortex.runtime.projections import EventIndex, Runner, find, snapshot

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
        causation=None,
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


def fits(topic: str, pattern: str) -> bool:
    return pattern in ("*", topic) or (
        pattern.endswith(".*") and topic.partition(".")[0] == pattern[:-2]
    )


@settings(max_examples=200, deadline=None)
@given(
    topic=st.sampled_from(["*", "execution.*", "step.*", "none.*", *TOPICS]),
    since=st.none() | st.integers(-5, 700),
    until=st.none() | st.integers(-5, 700),
    correlation=st.sampled_from(EXECUTIONS),
    source=st.sampled_from([None, *SOURCES, "nobody"]),
    key=st.sampled_from([None, "k0", "k2"]),
    limit=st.integers(1, 30),
    after=st.integers(0, COUNT),
    newest=st.booleans(),
)
def test_find_gives_what_a_walk_over_the_log_gives(
    path: Path,
    topic: str,
    since: int | None,
    until: int | None,
    correlation: str | None,
    source: str | None,
    key: str | None,
    limit: int,
    after: int,
    newest: bool,
) -> None:
    walked = [
        r.position
        for r in RECORDS
        if r.position > after
        and fits(r.topic, topic)
        and (since is None or r.time_ns >= since)
        and (until is None or r.time_ns < until)
        and (correlation is None or r.correlation == correlation)
        and (source is None or r.source == source)
        and (key is None or r.key == key)
    ]

    with snapshot(path, "event_index") as view:
        found = find(
            view,
            topic=topic,
            since_ns=since,
            until_ns=until,
            correlation=correlation,
            source=source,
            key=key,
            limit=limit,
            after=after,
            newest=newest,
        )

    assert found.positions == (walked[-limit:] if newest else walked[:limit])
    assert found.through == COUNT


def test_the_names_on_disk_do_not_change() -> None:
    assert (EventIndex.name, EventIndex.version) == ("event_index", 1)
