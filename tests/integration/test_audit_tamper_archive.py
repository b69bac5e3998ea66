"""Somebody changes files of the archive anywhere: the auditor's program finds each change there.

`CORTEX_TAMPERS` says how many changes are tried, 400 by default.
"""

import contextlib
import io
import os
import random
import shutil
import sqlite3
import struct
import sys
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import pytest

from .tampering import World, flipped, make_world, set_leaf, size_of

_verify: Any = import_module("cortex.runtime.audit.verify")
segments: Any = import_module("cortex.runtime.log.segments")

TAMPERS = int(os.environ.get("CORTEX_TAMPERS", "400"))
SEED = 11

SEALED = (512, 768)  # two tiles and one
TILE = 256


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("archive"), (90, 800), SEALED)


@pytest.fixture
def archive(world: World, tmp_path: Path) -> Path:
    """A copy of the archive, to be changed, and a fresh log."""
    world.fresh()
    shutil.copytree(world.folder / "archive", tmp_path / "archive")
    return tmp_path / "archive"


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.zst"))


def first_of(path: Path) -> int:
    return int(path.name.partition("-")[0])


def frames(data: bytes) -> list[int]:
    """Where the frames of a file begin, as its seek table says: the header, tiles, the table."""
    (count,) = struct.unpack("<I", data[-9:-5])
    table = data[-9 - 8 * count : -9]
    return [0, *accumulate(size for size, _ in struct.iter_unpack("<II", table))]


def test_a_bit_of_a_file_is_found_before_anything_of_it_is_unpacked(
    world: World, archive: Path
) -> None:
    chance = random.Random(SEED)

    for _ in range(max(2, TAMPERS // 2)):
        path = chance.choice(files(archive))
        whole = path.read_bytes()
        path.write_bytes(flipped(whole, chance))

        assert world.checked(world.heads, archive=archive) == ("edit", first_of(path))

        path.write_bytes(whole)
    assert world.checked(world.heads, archive=archive) == ("", 0)


def test_a_file_that_is_cut_off_grows_or_is_gone_is_found(world: World, archive: Path) -> None:
    chance = random.Random(SEED)

    for _ in range(max(1, TAMPERS // 8)):
        path = chance.choice(files(archive))
        whole, first = path.read_bytes(), first_of(path)
        for data in (whole[: chance.randrange(len(whole))], whole + chance.randbytes(3)):
            path.write_bytes(data)
            assert world.checked(archive=archive) == ("edit", first)

        path.unlink()
        assert world.checked(archive=archive) == ("deletion", first)
        path.mkdir()
        assert world.checked(archive=archive) == ("deletion", first)
        path.rmdir()
        path.write_bytes(whole)


def renamed(world: World, path: Path) -> None:
    """Name and row of a file are made anew for the bytes that it has now."""
    first, last, _ = path.name.split("-")
    digest = segments.digest_of(path)
    path.rename(path.with_name(f"{first}-{last}-{digest}.zst"))
    with contextlib.closing(sqlite3.connect(world.log)) as log, log:
        log.execute("update segments set digest = ? where first = ?", (digest, int(first)))


def test_a_file_that_cannot_be_unpacked_is_found_whatever_its_name_says(
    world: World, archive: Path
) -> None:
    path = files(archive)[-1]
    whole = path.read_bytes()
    start, end = frames(whole)[1:3]

    for data in (whole[:start] + b"x" + whole[start + 1 :], whole[:end], whole[: end - 9], b""):
        path.write_bytes(data)
        renamed(world, path)
        path = files(archive)[-1]
        held = ("", 0) if data == whole[:end] else ("edit", first_of(path))
        assert world.checked(archive=archive) == held  # without its seek table it holds


def test_files_that_are_swapped_are_found(world: World, archive: Path) -> None:
    one, other = files(archive)
    data = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(data)

    assert world.checked(archive=archive) == ("edit", 1)


def repacked(world: World, archive: Path, position: int, record: bytes) -> None:
    """Put *record* in the place of another, by somebody who makes file, name and row anew."""
    path = next(path for path in reversed(files(archive)) if first_of(path) <= position)
    first, last = first_of(path), int(path.name.split("-")[1])
    header = read_header(path)
    old = segments.Segment(first, last, segments.digest_of(path), path.stat().st_size)
    with contextlib.closing(segments.SegmentFile(archive, old, header.log)) as file:
        records = [file.tile(tile).record(at) for tile in range(old.tiles) for at in range(TILE)]
    records[position - first] = record
    made = io.BytesIO()
    writer = segments.SegmentWriter(made, header)
    for start in range(0, len(records), TILE):
        writer.tile(records[start : start + TILE])
    writer.end()
    path.write_bytes(made.getvalue())
    renamed(world, path)


def read_header(path: Path) -> Any:
    data = path.read_bytes()
    (size,) = struct.unpack_from("<I", data, 4)
    return msgspec.msgpack.decode(data[8 : 8 + size], type=segments.SegmentHeader)


def forged(archive: Path, position: int) -> bytes:
    """The record at *position* with another body."""
    path = next(path for path in reversed(files(archive)) if first_of(path) <= position)
    first, last, digest = path.stem.split("-")
    rows = {row[0]: row[3] for row in _verify.sealed(archive, int(first), int(last), digest)}
    fields = msgspec.msgpack.decode(rows[position])
    fields[13] = msgspec.msgpack.encode({"forged": True})
    return msgspec.msgpack.encode(fields)


def test_who_packs_a_file_anew_is_found_at_the_record_that_was_changed(
    world: World, archive: Path
) -> None:
    chance = random.Random(SEED)

    for _ in range(max(1, TAMPERS // 40)):
        world.fresh()
        shutil.rmtree(archive)
        shutil.copytree(world.folder / "archive", archive)
        position = chance.randint(1, SEALED[-1])
        repacked(world, archive, position, forged(archive, position))

        assert world.checked(archive=archive) == ("edit", position)


def test_who_also_makes_the_leaf_hash_anew_is_found_by_a_head_that_somebody_else_kept(
    world: World, archive: Path
) -> None:
    position = 300
    record = forged(archive, position)
    repacked(world, archive, position, record)
    with contextlib.closing(sqlite3.connect(world.log)) as log, log:
        set_leaf(log, position, _verify.leaf_hash(record))

    assert world.checked(archive=archive) == ("", 0)  # integrity is not completeness
    over = [size for size in map(size_of, world.heads) if size >= position]
    assert world.checked(world.heads, archive=archive) == ("fork", over[0])


@pytest.mark.parametrize(
    ("change", "position"),
    [
        ("delete from segments", 1),
        ("delete from segments where first > 1", 513),
        ("update segments set last = last - 256 where first = 1", 1),
        ("update segments set last = last - 1 where first = 1", 1),
        ("update segments set digest = '../../' || digest where first = 1", 1),
        ("update segments set digest = substr(digest, 2) || '0' where first > 1", 513),
        ("update segments set digest = x'00' where first > 1", 513),
        ("update segments set digest = null where first = 1", 1),
        ("update segments set digest = cast(digest as blob) where first = 1", 1),
        ("update segments set last = 'abc' where first = 1", 1),
        ("update segments set last = 512.0 where first = 1", 1),
        ("update segments set last = null where first = 1", 1),
        ("update segments set first = '1' where first = 1", 1),
    ],
)
def test_a_changed_row_about_a_segment_is_found(
    world: World, archive: Path, change: str, position: int
) -> None:
    with contextlib.closing(sqlite3.connect(world.log)) as log, log:
        log.execute("create table loose (first, last, digest)")  # without types
        log.execute("insert into loose select first, last, digest from segments")
        log.execute("drop table segments")
        log.execute("alter table loose rename to segments")
        log.execute(change)

    assert world.checked(archive=archive)[1] == position


def test_without_zstandard_the_program_says_what_it_lacks(
    world: World, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)

    for words in (world.asked(archive=archive), world.asked(blobs=world.blobs)):
        assert _verify.main(words) == 2
        assert "zstandard" in capsys.readouterr().out
