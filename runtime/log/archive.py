"""The archive of a log: its sealed segments, read where they are.

The table `segments` says which records have left the table `events`; `sealed` says where those of a
stream are. Its rows come first, in several transactions; they mean nothing before their segment is
in `segments`. Only then do rows leave `events`, which so begins at most one position after the
archive ends.
"""

import re
import sqlite3
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import msgspec

from .errors import LogCorruptError
from .schema import SEGMENTS_FORMAT, read_meta
from .segments import Segment, SegmentFile, Tile
from .tiles import LEAVES

ARCHIVE: Final = "archive"  # the folder beside log.db
OPEN_FILES: Final = 8
CACHED_TILES: Final = 16
CACHED_BYTES: Final = 1 << 20  # a larger tile is not kept

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PLACES = msgspec.msgpack.Decoder(list[int]).decode

Row = tuple[int, bytes]  # position, record
Places = dict[str, tuple[int, list[int]]]  # of a segment: stream, its first version, its positions


class Archive:
    """The sealed records of the log at *log_path*; any thread may read them.

    Args:
        log_path: The log; it has nothing before `load`.
        follows: Another process may seal records meanwhile.
    """

    def __init__(self, log_path: Path, *, follows: bool = True) -> None:
        self._follows = follows
        self.folder = log_path.with_name(ARCHIVE)
        self.log_path = log_path
        self._lock = threading.Lock()
        self._log_id = ""
        self._segments: tuple[Segment, ...] = ()
        self._lasts: list[int] = []
        self._files: OrderedDict[int, SegmentFile] = OrderedDict()  # by position of the first
        self._tiles: OrderedDict[int, Tile] = OrderedDict()  # by position of the first

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All segments, in order."""
        return self._segments

    @property
    def through(self) -> int:
        """Every record up to here is in the archive; 0 if none is."""
        return self._lasts[-1] if self._lasts else 0

    def load(self, reader: sqlite3.Connection) -> None:
        """Learn which segments there are."""
        meta = read_meta(self.log_path, reader)
        self._log_id = meta.log_id
        if meta.format >= SEGMENTS_FORMAT:
            self.refresh(reader)

    def refresh(self, reader: sqlite3.Connection) -> bool:
        """Learn of segments that were sealed since; whether there are any."""
        try:
            rows = reader.execute(
                "select first, last, digest, file_bytes from segments where first > ? "
                "order by first",
                (self.through,),
            ).fetchall()
        except sqlite3.OperationalError:  # an older format, read only, has no such table
            return False
        with self._lock:
            for row in rows:
                if not isinstance(row[0], int) or row[0] > self.through:  # not by another thread
                    segment = _segment_of(self.log_path, row, self.through)
                    self._segments += (segment,)
                    self._lasts.append(segment.last)
        return bool(rows)

    def has_after(self, after: int, reader: sqlite3.Connection) -> bool:
        """Whether something after position *after* is in the archive by now."""
        if self._follows:
            self.refresh(reader)
        return after < self.through

    def records(self, after: int, last: int) -> Iterator[Row]:
        """Positions and records after position *after* up to *last*, as far as they are sealed.

        They are not compared with their leaf hashes.

        Raises:
            SegmentError: A file is missing, or is not what was sealed.
        """
        position, last = after + 1, min(last, self.through)
        while position <= last:
            tile = self._tile(position)
            number = (position - 1) % LEAVES
            for each in range(number, min(LEAVES, number + last - position + 1)):
                yield position, tile.record(each)
                position += 1

    def at(self, positions: Sequence[int]) -> list[Row]:
        """The records at *positions*, each of which is sealed.

        Raises:
            SegmentError: A file is missing, or is not what was sealed.
        """
        return [(p, self._tile(p).record((p - 1) % LEAVES)) for p in positions]

    def opened(self, segment: Segment) -> SegmentFile:
        """The file of *segment*; the caller closes it.

        Raises:
            SegmentError: It is missing, cut off, or another one.
        """
        return SegmentFile(self.folder, segment, self._log_id)

    def path_of(self, position: int) -> Path:
        """The file that has the record at *position*."""
        return self.folder / self._segment(position).name

    def close(self) -> None:
        """Close its files; it may be used again."""
        with self._lock:
            while self._files:
                self._files.popitem()[1].close()
            self._tiles.clear()

    def _segment(self, position: int) -> Segment:
        return self._segments[bisect_right(self._lasts, position - 1)]

    def _tile(self, position: int) -> Tile:
        first = position - (position - 1) % LEAVES
        with self._lock:
            tile = self._tiles.get(first)
            if tile is not None:
                self._tiles.move_to_end(first)
                return tile
            tile = self._file(self._segment(position)).tile(
                (first - self._segment(position).first) // LEAVES
            )
            if len(tile.content) <= CACHED_BYTES:
                self._tiles[first] = tile
                if len(self._tiles) > CACHED_TILES:
                    self._tiles.popitem(last=False)
            return tile

    def _file(self, segment: Segment) -> SegmentFile:
        file = self._files.get(segment.first)
        if file is not None:
            self._files.move_to_end(segment.first)
            return file
        file = self._files[segment.first] = self.opened(segment)
        if len(self._files) > OPEN_FILES:
            self._files.popitem(last=False)[1].close()
        return file


def places_of(
    reader: sqlite3.Connection, path: Path, stream: str, after: int, limit: int
) -> list[int]:
    """Positions of the sealed records of *stream* after its version *after*, at most *limit*.

    Raises:
        LogCorruptError: They are not in the segment that they should be in.
    """
    rows = reader.execute(
        "select version, first, last, places from sealed join segments on first = segment "
        "where stream = ? and version >= coalesce((select max(version) from sealed "
        "where stream = ? and version <= ?), 0) order by version",
        (stream, stream, after + 1),
    )
    found: list[int] = []
    with closing(rows):  # otherwise its snapshot would outlive the page
        for version, first, last, places in rows:
            positions = _positions(first, places) if isinstance(version, int) else []
            if not positions or not first <= min(positions) <= max(positions) <= last:
                problem = f"the table sealed says wrongly where {stream} is"
                raise LogCorruptError(str(path), problem)
            found += positions[max(0, after + 1 - version) :]
            if len(found) >= limit:
                break
    return found[:limit]


def sealed_version(reader: sqlite3.Connection, stream: str) -> int:
    """The newest sealed version of *stream*; 0 if it has none."""
    row = reader.execute(
        "select version, places from sealed join segments on first = segment where stream = ? "
        "order by version desc limit 1",
        (stream,),
    ).fetchone()
    return row[0] + len(_positions(0, row[1])) - 1 if row else 0


def rows_of(segment: Segment, places: Places) -> list[tuple[Any, ...]]:
    """The rows of `sealed` about *segment*, whose records are at *places*."""
    return [
        (stream, version, segment.first, _packed(segment.first, positions))
        for stream, (version, positions) in sorted(places.items())
    ]


def forget(writer: sqlite3.Connection, first: int) -> None:
    """Remove the rows of `sealed` about a segment from *first* that never came to be."""
    writer.execute("delete from sealed where segment >= ?", (first,))


def misplaced(
    reader: sqlite3.Connection, segment: Segment, places: Mapping[str, tuple[int, list[int]]]
) -> str | None:
    """The error in the rows about *segment*, whose records are at *places*; None if there is none.

    Rows about streams that have no record in it are not looked for.
    """
    for stream, (version, positions) in places.items():
        row = reader.execute(
            "select segment, places from sealed where stream = ? and version = ?",
            (stream, version),
        ).fetchone()
        if row is None or tuple(row) != (segment.first, _packed(segment.first, positions)):
            return f"the table sealed does not say where {stream} is from version {version}"
    return None


def _packed(first: int, positions: Sequence[int]) -> bytes:
    before = (first, *positions)
    return msgspec.msgpack.encode([at - was for was, at in zip(before, positions, strict=False)])


def _positions(first: int, places: bytes) -> list[int]:
    try:
        return list(accumulate(_PLACES(places), initial=first))[1:]
    except (msgspec.MsgspecError, TypeError):
        return []


def _segment_of(log_path: Path, row: Sequence[Any], after: int) -> Segment:
    """The segment of *row*, which has to follow position *after*, and to name a file."""
    first, last, digest, file_bytes = row
    whole = first == after + 1 and isinstance(last, int) and isinstance(file_bytes, int)
    if whole and last > after and (last - after) % LEAVES == 0 and _DIGEST.fullmatch(str(digest)):
        return Segment(first, last, digest, file_bytes)
    raise LogCorruptError(str(log_path), "its table segments was changed", after + 1)
