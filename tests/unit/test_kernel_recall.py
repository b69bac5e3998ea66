"""Recalling: what a start reads of the log, which snapshots count, what becomes of their file."""

import sqlite3
import stat
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import FORMAT, Batch, Event, Filter, Recorded, Row, decode, encode
from cortex.runtime.kernel import Component, Delivery, on
from cortex.runtime.log import MemoryLog

from .bus_world import PlanWrite
from .kernel_world import PAIRS, PLANS, host, recall

BODY = msgspec.msgpack.encode({"plan": "p"})


class Counting(MemoryLog):
    """A log that says how many records were read from it."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
        page = super().read(after, limit, limit_bytes)
        self.count += len(page)
        return page

    def grow(self, count: int, *wanted: int, plan: str = "p", source: str = "tests") -> None:
        """Append *count* events; those at the positions *wanted* are for the component."""
        head = self.state().head
        rows = []
        for position in range(head + 1, head + count + 1):
            topic = "plan.write" if position in wanted else "other.thing"
            stream = f"plan/{plan}"
            fields = (bytes(16), 1, topic, 1, None, None, source, None, None, BODY)
            record = Recorded(FORMAT, position, stream, position, *fields)
            rows.append(Row(position, stream, position, encode(record)))
        self.write(Batch(rows=rows))


class Rare(Component):
    """Keeps the positions it has seen, and gives no snapshot."""

    recalls = 1

    def __init__(self) -> None:
        self.seen: list[int] = []

    @on(PlanWrite)
    def write(self, event: Event, delivery: Delivery) -> None:
        self.seen.append(delivery.position)

    def recall(self, event: Event, delivery: Delivery) -> None:
        self.seen.append(delivery.position)


class Keeping(Rare):
    """The same with a snapshot."""

    def snapshot(self) -> bytes:
        return msgspec.msgpack.encode(self.seen)

    def restore(self, snapshot: bytes) -> None:
        self.seen = msgspec.msgpack.decode(snapshot, type=list[int])


def started(log: MemoryLog, snapshots: Any, kind: type[Rare], cursor: int) -> tuple[Any, Rare]:
    """A start: what is recalled, into which component."""
    made: list[Rare] = []

    def make() -> Rare:
        made.append(kind())
        return made[0]

    local = host.LocalHost(make, PLANS, print)
    local.start()
    back = recall.Recall("c", 1, Filter(PAIRS), local, log, snapshots)
    back.load(cursor)
    return back, made[0]


@pytest.mark.parametrize("kind", [Rare, Keeping])
def test_a_start_reads_only_what_came_since_the_last_one(kind: type[Rare]) -> None:
    log, snapshots = Counting(), recall.MemorySnapshots()
    log.grow(20_000, 3, 15_000)
    started(log, snapshots, kind, 20_000)[0].save()
    log.grow(500, 20_100)
    log.count = 0

    _, again = started(log, snapshots, kind, 20_500)

    assert log.count == 500
    assert again.seen == [3, 15_000, 20_100]


@pytest.mark.parametrize("kind", [Rare, Keeping])
def test_results_beyond_the_cursor_are_in_the_next_snapshot(kind: type[Rare]) -> None:
    log, snapshots = Counting(), recall.MemorySnapshots()
    log.grow(10, 2)
    log.grow(1, 11, source="c")  # stands behind events that it has still to handle
    made = kind()
    local = host.LocalHost(lambda: made, PLANS, print)
    local.start()
    back = recall.Recall("c", 1, Filter(PAIRS), local, log, snapshots, results=("plan.write",))
    back.load(5, log.state().head)
    back.arrive(11)  # nothing of it was handled
    back.save()

    _, again = started(log, snapshots, kind, 11)

    assert made.seen == [2, 11]
    assert again.seen == [2, 11]


def test_a_large_state_is_kept_less_often_and_a_small_one_as_often_as_before() -> None:
    def kept_at(size_bytes: int) -> list[int]:
        class Large(Rare):
            def snapshot(self) -> bytes:
                return bytes(size_bytes)

        log, snapshots = Counting(), recall.MemorySnapshots()
        log.grow(8 * recall.EVERY, 3)
        back, _ = started(log, snapshots, Large, 0)
        found: dict[int, None] = {}
        for cursor in range(500, 8 * recall.EVERY, 500):
            back.arrive(cursor)
            if (kept := snapshots.get("c", 1)) is not None:
                found[kept.position] = None
        return list(found)

    every = recall.EVERY
    assert kept_at(100) == [every * n for n in range(1, 8)]
    assert kept_at(3 * every * recall.STATE_BYTES) == [every, 4 * every, 7 * every]


class Restricted(Counting):
    """A log of which only what is for the component may be read."""

    def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
        rest = super().read(after, 1 << 20, 1 << 30)
        return [data for data in rest if decode(data).topic == "plan.write"][:limit]


def test_what_may_be_read_is_recalled_once_and_not_past_the_cursor() -> None:
    log = Restricted()
    log.grow(100, 3, 40, 90)

    _, again = started(log, recall.MemorySnapshots(), Rare, 50)

    assert again.seen == [3, 40]


@pytest.mark.parametrize("kind", [Rare, Keeping])
def test_what_a_long_way_brought_is_kept_before_anything_is_handled(kind: type[Rare]) -> None:
    log, snapshots = Counting(), recall.MemorySnapshots()
    log.grow(recall.EVERY + 1, 7)

    started(log, snapshots, kind, recall.EVERY + 1)  # and killed

    kept = snapshots.get("c", 1)
    assert kept is not None
    assert kept.position == recall.EVERY + 1


def test_a_kill_on_a_long_way_costs_no_more_than_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "LOADING", 3_000)
    log, snapshots = Counting(), recall.MemorySnapshots()
    log.grow(8_000, 2, 5_000)

    class Killed(Counting):
        def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
            if after >= 7_000:
                raise KeyboardInterrupt
            return log.read(after, limit, limit_bytes)

        def leaf_hashes(self, first: int, last: int) -> bytes:
            return log.leaf_hashes(first, last)

    with pytest.raises(KeyboardInterrupt):
        started(Killed(), snapshots, Keeping, 8_000)
    log.count = 0
    _, again = started(log, snapshots, Keeping, 8_000)

    assert log.count < 8_000 - 2 * 3_000 + recall.PAGE
    assert again.seen == [2, 5_000]


def test_what_was_handled_is_not_taken_for_recalled() -> None:
    log, snapshots = Counting(), recall.MemorySnapshots()
    log.grow(10, 1, 6)
    back, _ = started(log, snapshots, Rare, 5)
    back.leave()  # handles the event at 6, which is in no snapshot
    back.arrive(10)
    back.save()

    _, again = started(log, snapshots, Rare, 10)

    assert again.seen == [1, 6]


@pytest.mark.parametrize("kind", [Rare, Keeping])
def test_a_snapshot_of_another_log_does_not_count(kind: type[Rare]) -> None:
    lost, log, snapshots = Counting(), Counting(), recall.MemorySnapshots()
    lost.grow(100, 40)
    started(lost, snapshots, kind, 100)[0].save()
    log.grow(300, 200, plan="q")

    _, again = started(log, snapshots, kind, 300)

    assert again.seen == [200]


@given(
    wanted=st.sets(st.integers(1, 60)),
    stops=st.lists(st.integers(1, 60), max_size=6),
    kind=st.sampled_from([Rare, Keeping]),
)
@settings(max_examples=200, deadline=None)
def test_however_often_it_is_stopped_the_fold_is_that_of_the_log(
    wanted: set[int], stops: list[int], kind: type[Rare]
) -> None:
    log, snapshots = Counting(), recall.MemorySnapshots()
    log.grow(60, *wanted)

    for cursor in sorted(stops):
        started(log, snapshots, kind, cursor)[0].save()

    assert started(log, snapshots, kind, 60)[1].seen == sorted(wanted)


KEPT = recall.StoredSnapshot(7, b"l" * 32, b"state", (b"one", b"two"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "snapshots.db"


def test_a_snapshot_on_disk_comes_back_as_it_was(path: Path) -> None:
    recall.DiskSnapshots(path).put("c", 1, KEPT)

    again = recall.DiskSnapshots(path)

    assert again.get("c", 1) == KEPT
    assert again.get("c", 2) is None
    assert again.get("d", 1) is None


def test_nobody_else_may_read_snapshots(path: Path) -> None:
    recall.DiskSnapshots(path).put("c", 1, KEPT)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_locked_is_kept(path: Path) -> None:
    snapshots = recall.DiskSnapshots(path, busy_s=0)
    snapshots.put("c", 1, KEPT)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin exclusive")
        assert snapshots.get("c", 1) is None
        snapshots.put("c", 1, KEPT)
        other.execute("rollback")

    assert snapshots.get("c", 1) == KEPT


@pytest.mark.parametrize("garbage", [b"no database at all" * 100, b""])
def test_a_file_that_is_no_database_is_made_anew(path: Path, garbage: bytes) -> None:
    path.write_bytes(garbage)
    snapshots = recall.DiskSnapshots(path)

    assert snapshots.get("c", 1) is None
    snapshots.put("c", 1, KEPT)

    assert snapshots.get("c", 1) == KEPT


def test_snapshots_of_an_earlier_layout_are_dropped(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("create table snapshots (component, version, position, state)")
        db.execute("insert into snapshots values ('c', 1, 7, x'00')")
    snapshots = recall.DiskSnapshots(path)

    assert snapshots.get("c", 1) is None
    snapshots.put("c", 1, KEPT)

    assert snapshots.get("c", 1) == KEPT


def test_where_no_file_can_be_made_everything_is_recalled(tmp_path: Path) -> None:
    snapshots = recall.DiskSnapshots(tmp_path / "missing" / "snapshots.db")

    snapshots.put("c", 1, KEPT)

    assert snapshots.get("c", 1) is None


def test_what_is_to_end_on_a_long_way_leaves_it_and_goes_on_from_there() -> None:
    log, snapshots = Counting(), recall.MemorySnapshots()
    log.grow(8 * recall.PAGE, 2)
    local = host.LocalHost(Keeping, PLANS, print)
    local.start()
    way = recall.Recall(
        "c", 1, Filter(PAIRS), local, log, snapshots, lambda: log.count >= 2 * recall.PAGE
    )

    with pytest.raises(recall.Ending):
        way.load(8 * recall.PAGE)

    assert log.count == 2 * recall.PAGE
    _, again = started(log, snapshots, Keeping, 8 * recall.PAGE)
    assert log.count == 8 * recall.PAGE
    assert again.seen == [2]
