"""Logs that are changed at any place, for the tests of what checks them."""

import contextlib
import random
import shutil
import sqlite3
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from cortex.runtime.audit import Auditing
from cortex.runtime.kernel import Home

from .audit_world import make_signed

_verify: Any = import_module("cortex.runtime.audit.verify")

SIGNED_AT = (90, 300)


class World(NamedTuple):
    """A signed log as it was, and where a changed copy of it goes."""

    folder: Path
    in_table: range  # positions of the events that are not in the archive
    root: str
    heads: tuple[Path, ...]  # the last one is of the whole log
    keys: tuple[str, ...]

    @property
    def events(self) -> int:
        return self.in_table[-1]

    @property
    def log(self) -> Path:
        return self.folder / "changed.db"

    @property
    def blobs(self) -> Path:
        return self.folder / "blobs"

    def fresh(self) -> None:
        shutil.copy(self.folder / "whole.db", self.log)

    def rows(self, name: str) -> tuple[Any, ...]:
        """What an auditor counts on: every event with its columns, and the leaf hashes in order."""
        with contextlib.closing(sqlite3.connect(self.folder / name)) as log:
            log.text_factory = bytes
            tiles = log.execute("select first, hashes from tiles order by first").fetchall()
            of = "select position, stream, version, record from events order by position"
            meta = log.execute("select value from meta where name in ('format', 'log_id')")
            return (log.execute(of).fetchall(), b"".join(h for _, h in tiles), meta.fetchall())

    def asked(
        self,
        heads: tuple[Path, ...] = (),
        blobs: Path | None = None,
        archive: Path | None = None,
    ) -> list[str]:
        """The words that a verifier is asked with."""
        words = [str(self.log)]
        for head in heads:
            words += ["--head", str(head)]
        for key in self.keys if heads else ():
            words += ["--key", key]
        if blobs is not None:
            words += ["--blobs", str(blobs)]
        if archive is not None:
            words += ["--archive", str(archive)]
        return words

    def checked(
        self,
        heads: tuple[Path, ...] = (),
        blobs: Path | None = None,
        archive: Path | None = None,
    ) -> tuple[str, int]:
        """The kind of damage that the program finds, and where; "" and 0 for none."""
        try:
            _verify.found_by(_verify.arguments(self.asked(heads, blobs, archive)))
        except _verify.DamageError as damage:
            return damage.kind, damage.position
        except (_verify.UnreadableError, OSError, ValueError, sqlite3.Error):
            return "unreadable", 0
        return "", 0


def make_world(
    folder: Path, signed_at: tuple[int, ...] = SIGNED_AT, sealed: tuple[int, ...] = ()
) -> World:
    """A log in *folder* that is signed after so many events, by a key of each kind.

    Segments of its archive end at *sealed*.
    """
    home = Home(make_signed(folder, ("alice", "bob"), signed_at, sealed))
    with contextlib.closing(sqlite3.connect(home.log_path)) as log:
        log.execute("pragma wal_checkpoint(truncate)")
        log.execute("pragma journal_mode = delete")
    heads = tuple(sorted((home.path / "heads").glob("*.note"), key=size_of))
    keys = tuple(key.text() for key in Auditing(home).public_keys())
    shutil.copy(home.log_path, folder / "whole.db")
    shutil.copytree(home.path / "blobs", folder / "blobs")
    if sealed:
        shutil.copytree(home.path / "archive", folder / "archive")
    found = _verify.check_log(folder / "whole.db", folder / "archive", [], folder / "blobs")
    in_table = range(max(sealed, default=0) + 1, found["events"] + 1)
    made = World(folder, in_table, found["root"], heads, keys)
    made.fresh()
    assert made.checked(heads, made.blobs) == ("", 0)
    assert size_of(heads[-1]) == made.events
    return made


def size_of(note: Path) -> int:
    """How many events a head has."""
    return int(_verify.parsed_head(note.read_text()).size)


# --- what is done to a log: each returns where that has to be found


def flipped(data: bytes, chance: random.Random) -> bytes:
    """*data* with one bit turned."""
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def record_of(log: sqlite3.Connection, position: int) -> bytes:
    (record,) = log.execute("select record from events where position = ?", (position,)).fetchone()
    return bytes(record)


def set_leaf(log: sqlite3.Connection, position: int, leaf: bytes) -> None:
    """Write another leaf hash of an event."""
    first, hashes = log.execute(
        "select first, hashes from tiles where first <= ? order by first desc limit 1", (position,)
    ).fetchone()
    at = 32 * (position - first)
    changed = hashes[:at] + leaf + hashes[at + 32 :]
    log.execute("update tiles set hashes = ? where first = ?", (changed, first))


def rewrite(log: sqlite3.Connection, position: int, record: bytes) -> None:
    """Put another record in the place of an event, with its leaf hash."""
    log.execute("update events set record = ? where position = ?", (record, position))
    set_leaf(log, position, _verify.leaf_hash(record))


def edit(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    position = chance.choice(span)
    data = flipped(record_of(log, position), chance)
    log.execute("update events set record = ? where position = ?", (data, position))
    return position


def edit_leaf(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    position = chance.choice(span)
    set_leaf(log, position, flipped(_verify.leaf_hash(record_of(log, position)), chance))
    return position


def delete(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    position = chance.choice(span)
    log.execute("delete from events where position = ?", (position,))
    return position


def insert(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    """One event comes twice: all after it move up by one, with their leaf hashes or without."""
    position = chance.choice(span)
    moved = "update events set position = -position - 1 where position > ?"
    log.execute(moved, (position,))
    log.execute("update events set position = -position where position < 0")
    log.execute(
        "insert into events (position, stream, version, record) "
        "select position + 1, stream, -1, record from events where position = ?",
        (position,),
    )
    return position + 1


def swap(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    one, other = sorted(chance.sample(span, 2))
    for old, new in ((one, -1), (other, one), (-1, other)):
        log.execute("update events set position = ? where position = ?", (new, old))
    return one


def swap_with_leaves(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    """As `swap`, by somebody who has the tree follow."""
    one, other = sorted(chance.sample(span, 2))
    leaves = [_verify.leaf_hash(record_of(log, each)) for each in (one, other)]
    for old, new in ((one, -1), (other, one), (-1, other)):
        log.execute("update events set position = ? where position = ?", (new, old))
    for position, leaf in zip((other, one), leaves, strict=True):
        set_leaf(log, position, leaf)
    return one


def truncate(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    """The end is cut off, and its leaf hashes stay."""
    position = chance.choice(span)
    log.execute("delete from events where position >= ?", (position,))
    return position


def column(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    position = chance.choice(span)
    change = chance.choice(["stream = stream || 'x'", "version = version + 1000"])
    log.execute(f"update events set {change} where position = ?", (position,))
    return position


def renumber(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    """Record and column get another version, by somebody who makes the leaf hash anew."""
    position, more = chance.choice(span), chance.choice([1_000, 1_000_000])
    fields = msgspec.msgpack.decode(record_of(log, position))
    fields[3] += more
    log.execute("update events set version = version + ? where position = ?", (more, position))
    rewrite(log, position, msgspec.msgpack.encode(fields))
    return position


def blame(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    """A cause that cannot be one, by somebody who makes the leaf hash anew."""
    position = chance.choice(span)
    fields = msgspec.msgpack.decode(record_of(log, position))
    fields[9] = chance.choice([-1, 0, position, position + 1, (1 << 64) - 1])
    rewrite(log, position, msgspec.msgpack.encode(fields))
    return position


Change = Callable[[sqlite3.Connection, range, random.Random], int]
FOUND_ALONE: tuple[Change, ...] = (
    *(edit, edit_leaf, delete, insert, swap, swap_with_leaves, truncate, column, renumber, blame),
)


def forged(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    """The body of an event is replaced, by somebody who makes record and leaf hash anew."""
    position = chance.choice(span)
    fields = msgspec.msgpack.decode(record_of(log, position))
    fields[13] = msgspec.msgpack.encode({"forged": chance.random()})
    rewrite(log, position, msgspec.msgpack.encode(fields))
    return position


def cut(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    """The end is cut off with its leaf hashes."""
    position = chance.choice(span)
    log.execute("delete from events where position >= ?", (position,))
    for first, hashes in log.execute("select first, hashes from tiles").fetchall():
        kept = hashes[: 32 * max(0, position - first)]
        log.execute("delete from tiles where first = ?", (first,))
        if kept:
            log.execute("insert into tiles (first, hashes) values (?, ?)", (first, kept))
    return position


def retyped(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    """A field of a record becomes any other value, by somebody who makes the leaf hash anew."""
    position = chance.choice(span)
    fields = msgspec.msgpack.decode(record_of(log, position))
    values: list[Any] = [None, True, -1, 0, 1, 1 << 62, (1 << 64) - 1, 1.5, "", "x", b"", b"\xff"]
    fields[chance.randrange(len(fields))] = chance.choice([*values, [], {}])
    rewrite(log, position, msgspec.msgpack.encode(fields[: chance.choice([13, 14, 14, 14])]))
    return position


def back_dated(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    """An event gets another time, by somebody who makes the leaf hash anew."""
    position = chance.choice(span[1:])
    fields = msgspec.msgpack.decode(record_of(log, position))
    fields[5] -= chance.choice([-1, 1]) * 10 ** chance.randint(3, 12)
    rewrite(log, position, msgspec.msgpack.encode(fields))
    return position


def tile_rows(log: sqlite3.Connection, span: range, chance: random.Random) -> int:
    """A row of leaf hashes is gone, longer, shorter, elsewhere or one with the row after it."""
    rows: list[tuple[int, bytes]] = log.execute(
        "select first, hashes from tiles order by first"
    ).fetchall()
    (first, hashes), (other, more) = chance.choice([*pairwise(rows)])
    change = chance.choice(["gone", "moved", "one", "longer", "shorter"])
    log.execute("delete from tiles where first = ?", (first,))
    if change == "one":
        log.execute("delete from tiles where first = ?", (other,))
    hashes += {"one": more, "longer": bytes(chance.randint(1, 64))}.get(change, b"")
    hashes = hashes[: -chance.randint(1, 64)] if change == "shorter" else hashes
    if change != "gone":
        moved = first + chance.choice([-1000, -1, 1, 1000]) if change == "moved" else first
        log.execute("insert or replace into tiles (first, hashes) values (?, ?)", (moved, hashes))
    return first


def place_of(world: World, change: Change, chance: random.Random) -> int:
    """Changes a fresh copy of the log; where that has to be found."""
    world.fresh()
    with contextlib.closing(sqlite3.connect(world.log)) as log, log:
        return change(log, world.in_table, chance)
