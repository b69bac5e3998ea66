"""What every log must do: one suite for the one on disk and the one in memory."""

import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from cortex.bus import (
    FORMAT,
    Batch,
    Deadline,
    Log,
    LogError,
    Receipt,
    Recorded,
    Row,
    State,
    SubscriptionState,
    Work,
    encode,
)
from cortex.runtime.log import EventLog, MemoryLog, RowRefusedError
from cortex.runtime.subjects import PersonalLog, SubjectKeys

EVERYTHING = (("*", None),)


@pytest.fixture(params=["sqlite", "memory", "with subjects"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Log]:
    opened: Log = EventLog.open(tmp_path / "log.db") if request.param == "sqlite" else MemoryLog()
    if request.param == "with subjects":
        keys = SubjectKeys(None)
        keys.id_of("somebody")
        opened = PersonalLog(opened, keys)
    yield opened
    opened.close()


def row(position: int, stream: str = "planner/7", version: int | None = None, size: int = 8) -> Row:
    at = position if version is None else version
    record = Recorded(
        format=FORMAT,
        position=position,
        stream=stream,
        version=at,
        id=position.to_bytes(16, "big"),
        time_ns=1_000 + position,
        topic="step.completed",
        schema=1,
        correlation=None,
        causation=None,
        source="tests",
        key=None,
        subject=None,
        body=b"\x80" * size,
    )
    return Row(position, stream, at, encode(record))


def rows(first: int, last: int) -> list[Row]:
    return [row(position) for position in range(first, last + 1)]


def test_an_empty_log_has_nothing_in_it(log: Log) -> None:
    state = log.state()

    assert msgspec.structs.replace(state, epochs=()) == State(0, 0, [], [], [], [])
    assert list(log.read(0, 10, 1_000)) == []
    assert list(log.read_stream("planner/7", 0, 10)) == []
    assert log.stream_version("planner/7") == 0
    assert log.leaf_hashes(1, 0) == b""


def test_records_come_back_as_the_bytes_they_were(log: Log) -> None:
    written = rows(1, 600)

    log.write(Batch(rows=written[:300]))
    log.write(Batch(rows=written[300:]))

    assert list(log.read(0, 1_000, 10**9)) == [r.record for r in written]
    assert log.state().head == 600
    assert log.state().time_ns == 1_600


def test_a_page_starts_after_its_cursor_and_keeps_to_its_limits(log: Log) -> None:
    written = rows(1, 20)
    size = len(written[0].record)
    log.write(Batch(rows=written))

    assert list(log.read(5, 3, 10**9)) == [r.record for r in written[5:8]]
    assert list(log.read(5, 10, 4 * size)) == [r.record for r in written[5:9]]
    assert list(log.read(20, 10, 10**9)) == []


def test_a_record_over_the_limit_still_comes_alone(log: Log) -> None:
    log.write(Batch(rows=[row(1, size=5_000), row(2), row(3)]))

    assert len(log.read(0, 10, 100)) == 1
    assert len(log.read(0, 10, 0)) == 1


def test_a_stream_is_read_by_its_own_versions(log: Log) -> None:
    a1, b1, a2, a3 = row(1, "a", 1), row(2, "b", 1), row(3, "a", 2), row(4, "a", 3)

    log.write(Batch(rows=[a1, b1, a2, a3]))

    assert list(log.read_stream("a", 1, 10)) == [a2.record, a3.record]
    assert list(log.read_stream("a", 0, 2)) == [a1.record, a2.record]
    assert log.stream_version("a") == 3
    assert log.stream_version("b") == 1


@pytest.mark.parametrize("more", [0, 1, 9, 250, 2_000])
def test_versions_of_many_streams_are_those_of_each(log: Log, more: int) -> None:
    log.write(Batch(rows=[row(1, "a", 1), row(2, "a\0b", 1), row(3, "a", 2), row(4, "\u00fc", 1)]))
    streams = ["a", "a\0b", "b", "\u00fc", *(f"none/{n}" for n in range(more))]

    versions = log.stream_versions(streams)

    assert versions == {stream: log.stream_version(stream) for stream in streams}
    assert [versions[stream] for stream in streams[:4]] == [2, 1, 0, 1]
    assert log.stream_versions([]) == {}


def test_leaf_hashes_are_those_of_rfc_6962_across_tiles(log: Log) -> None:
    written = rows(1, 700)
    leaves = [sha256(b"\x00" + r.record).digest() for r in written]

    for start in (0, 1, 255, 256, 511, 512):
        end = {0: 1, 1: 255, 255: 256, 256: 511, 511: 512, 512: 700}[start]
        log.write(Batch(rows=written[start:end]))

    assert log.leaf_hashes(1, 700) == b"".join(leaves)
    assert log.leaf_hashes(256, 257) == b"".join(leaves[255:257])
    assert log.leaf_hashes(700, 700) == leaves[-1]


@pytest.mark.parametrize("first", [1, 3, 5])
def test_rows_that_leave_a_gap_or_repeat_are_refused_whole(log: Log, first: int) -> None:
    log.write(Batch(rows=rows(1, 3)))

    with pytest.raises(RowRefusedError, match="continues with 4"):
        log.write(Batch(rows=rows(first, 6), receipts={"c": Receipt("c", 1, b"ok")}))

    assert log.state().head == 3
    assert log.state().receipts == []


def test_a_version_that_is_taken_is_refused_and_the_log_goes_on(log: Log) -> None:
    log.write(Batch(rows=[row(1, "a", 1)]))

    with pytest.raises(RowRefusedError):
        log.write(Batch(rows=[row(2, "b", 1), row(3, "a", 1)]))
    with pytest.raises(LogError):
        log.write(Batch(rows=[row(2, "b", 1), row(3, "b", 1)]))
    log.write(Batch(rows=[row(2, "a", 2)]))

    assert [log.stream_version(stream) for stream in "ab"] == [2, 0]
    assert log.leaf_hashes(1, 2) == b"".join(
        sha256(b"\x00" + r.record).digest() for r in (row(1, "a", 1), row(2, "a", 2))
    )


def test_what_stands_beside_the_events_is_put_replaced_and_removed(log: Log) -> None:
    ordered = SubscriptionState(
        "p", "ordered", (("step.*", None), ("gate.evaluate", "tests_pass")), 4, 1, 2
    )
    work = SubscriptionState("w", "work", EVERYTHING)
    log.write(
        Batch(
            standings={"p": ordered, "w": work},
            work={("w", n): Work("w", n) for n in (1, 2)},
            deadlines={"d": Deadline("d", 5, b"draft", "me"), "e": Deadline("e", 6, b"", "me")},
            receipts={"c": Receipt("c", 1, b"one")},
        )
    )

    log.write(
        Batch(
            standings={"p": SubscriptionState("p", "ordered", EVERYTHING, 9)},
            work={("w", 2): Work("w", 2, 1, 1, 77)},
            finished=[("w", 1)],
            forgotten=dict.fromkeys(["d"]),
            deadlines={"e": Deadline("e", 8, b"later", "you")},
            receipts={"c": Receipt("c", 2, b"two")},
        )
    )

    assert msgspec.structs.replace(log.state(), epochs=()) == State(
        head=0,
        time_ns=0,
        standings=[SubscriptionState("p", "ordered", EVERYTHING, 9), work],
        work=[Work("w", 2, 1, 1, 77)],
        deadlines=[Deadline("e", 8, b"later", "you")],
        receipts=[Receipt("c", 2, b"two")],
    )


def test_dropping_a_subscription_takes_its_work_along(log: Log) -> None:
    log.write(
        Batch(
            standings={name: SubscriptionState(name, "work", EVERYTHING) for name in "ab"},
            work={(name, 1): Work(name, 1) for name in "ab"},
        )
    )

    log.write(Batch(dropped=["a", "never there"]))

    assert [s.name for s in log.state().standings] == ["b"]
    assert [w.subscription for w in log.state().work] == ["b"]


def test_work_claimed_and_finished_in_one_batch_is_finished(log: Log) -> None:
    log.write(Batch(work={("w", 1): Work("w", 1, 1, 1)}, finished=[("w", 1)]))

    assert log.state().work == []


def test_a_deadline_forgotten_and_set_again_in_one_batch_is_set(log: Log) -> None:
    log.write(Batch(deadlines={"d": Deadline("d", 1, b"", "me")}))

    log.write(Batch(forgotten=dict.fromkeys(["d"]), deadlines={"d": Deadline("d", 2, b"", "me")}))

    assert [d.due_ns for d in log.state().deadlines] == [2]


@pytest.mark.parametrize("count", [9, 10, 11, 99, 190, 199, 240, 241, 3_000])
def test_a_batch_of_any_size_is_written_whole(log: Log, count: int) -> None:
    log.write(
        Batch(
            rows=rows(1, count),
            work={("w", n): Work("w", n) for n in range(1, count + 1)},
            receipts={f"c{n}": Receipt(f"c{n}", n, b"") for n in range(count)},
        )
    )

    log.write(Batch(finished=[("w", n) for n in range(2, count + 1)]))

    assert log.state().head == count
    assert log.state().work == [Work("w", 1)]
    assert len(log.state().receipts) == count


NAMES = st.sampled_from(["a", "b", "é/1"])
POSITIONS = st.integers(1, 6)
TIMES = st.integers(0, 2**62)


class BothLogs(RuleBasedStateMachine):
    """The two logs agree after any batches, refusals and reopenings."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "log.db"
        self.disk: EventLog = EventLog.open(self.path)
        self.memory = MemoryLog()
        self.head = 0
        self.versions: dict[str, int] = {}

    def _rows(self, streams: list[str], size: int) -> list[Row]:
        versions, made = dict(self.versions), []
        for position, stream in enumerate(streams, self.head + 1):
            versions[stream] = versions.get(stream, 0) + 1
            made.append(row(position, stream, versions[stream], size))
        return made

    @rule(streams=st.lists(NAMES, max_size=300), size=st.integers(0, 40))
    def append(self, streams: list[str], size: int) -> None:
        batch = Batch(rows=self._rows(streams, size))
        for log in (self.disk, self.memory):
            log.write(batch)
        self.head += len(streams)
        for stream in streams:
            self.versions[stream] = self.versions.get(stream, 0) + 1

    @rule(
        streams=st.lists(NAMES, min_size=1, max_size=5),
        shift=st.sampled_from([-1, 0, 1]),
        name=NAMES,
    )
    def refuse(self, streams: list[str], shift: int, name: str) -> None:
        bad = self._rows(streams, 3)
        taken = bad[-1]  # its version twice, or the whole batch at a wrong position
        bad = [row(r.position + shift, r.stream, r.version) for r in bad]
        bad.append(row(taken.position + 1 + shift, taken.stream, taken.version))
        batch = Batch(rows=bad, receipts={name: Receipt(name, 1, b"never")}, dropped=[name])
        for log in (self.disk, self.memory):
            with pytest.raises(RowRefusedError):
                log.write(batch)

    @rule(data=st.data())
    def stand(self, data: st.DataObject) -> None:
        names = data.draw(st.sets(NAMES))
        keys = data.draw(st.sets(st.tuples(NAMES, POSITIONS)))
        batch = Batch(
            standings={
                n: SubscriptionState(n, "work", ((n, None), ("*", n)), data.draw(TIMES))
                for n in names
            },
            dropped=sorted(data.draw(st.sets(NAMES))),
            work={(n, p): Work(n, p, p, p, data.draw(TIMES)) for n, p in keys},
            finished=sorted(data.draw(st.sets(st.tuples(NAMES, POSITIONS)))),
            deadlines={n: Deadline(n, data.draw(TIMES), n.encode(), n) for n in names},
            forgotten=dict.fromkeys(sorted(data.draw(st.sets(NAMES)))),
            receipts={n: Receipt(n, data.draw(TIMES), n.encode()) for n in names},
        )
        for log in (self.disk, self.memory):
            log.write(batch)

    @rule()
    def reopen(self) -> None:
        self.disk.close()
        self.memory.close()
        self.disk = EventLog.open(self.path)

    @rule(after=st.integers(0, 400), limit=st.integers(1, 50), limit_bytes=st.integers(0, 3_000))
    def page(self, after: int, limit: int, limit_bytes: int) -> None:
        assert self.disk.read(after, limit, limit_bytes) == self.memory.read(
            after, limit, limit_bytes
        )

    @rule(stream=NAMES, after=st.integers(0, 100), limit=st.integers(1, 50))
    def stream_page(self, stream: str, after: int, limit: int) -> None:
        assert self.disk.read_stream(stream, after, limit) == self.memory.read_stream(
            stream, after, limit
        )

    @invariant()
    def agree(self) -> None:
        disk, memory = self.disk.state(), self.memory.state()
        assert msgspec.structs.replace(disk, epochs=memory.epochs) == memory  # their ids are random
        assert self.disk.leaf_hashes(1, self.head) == self.memory.leaf_hashes(1, self.head)
        for stream in ("a", "b", "é/1"):
            assert self.disk.stream_version(stream) == self.memory.stream_version(stream)

    def teardown(self) -> None:
        assert self.disk.verify() == self.head
        self.disk.close()
        self.folder.cleanup()


BothLogs.TestCase.settings = settings(max_examples=60, stateful_step_count=15, deadline=None)
TestBothLogs = BothLogs.TestCase
