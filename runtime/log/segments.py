"""The file of a sealed segment: records of whole tiles, one zstd frame for each tile.

The first frame is skippable, and says of which log the file is, and from which position on. Then
each tile has a frame: 256 lengths of 4 bytes, big-endian, and the records. A seek table as in
zstd's seekable format ends the file, so that one tile is read without the others; `zstd -dc` reads
all of them.
"""

import os
import stat
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import file_digest
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
import zstandard

from .errors import SegmentError
from .tiles import LEAVES

SEGMENT_FORMAT: Final = 1
LEVEL: Final = 9  # of zstd: twice as slow as 3, an eighth smaller; reading is as fast
HEADER_MAGIC, TABLE_MAGIC, SEEKABLE_MAGIC = 0x184D2A50, 0x184D2A5E, 0x8F92EAB1
MOST_HEADER_BYTES: Final = 4_096
WINDOW_BYTES: Final = 1 << 27  # the most that a reader grants a frame
LENGTHS: Final = struct.Struct(f">{LEAVES}I")
_FRAME = struct.Struct("<II")  # of a skippable frame: magic, bytes that follow
_END = struct.Struct("<IBI")  # of the seek table: frames, descriptor, magic
_SIZES = struct.Struct("<II")  # of a frame: compressed, decompressed


class SegmentHeader(msgspec.Struct, frozen=True):
    """What the file says of itself."""

    format: int
    log: str  # its id
    first: int  # position of its first record


class Segment(msgspec.Struct, frozen=True):
    """A sealed segment, as the log knows it."""

    first: int  # position of its first record
    last: int
    digest: str  # SHA-256 of the file, in hex
    file_bytes: int

    @property
    def name(self) -> str:
        """The name of its file in the archive."""
        return f"{self.first:012}-{self.last:012}-{self.digest}.zst"

    @property
    def tiles(self) -> int:
        """How many tiles it has."""
        return (self.last - self.first + 1) // LEAVES


class SegmentWriter:
    """Writes the frames of one segment; one tile after another, and then the end."""

    def __init__(self, file: BinaryIO, header: SegmentHeader) -> None:
        """Begin the file."""
        self._file, self._sizes = file, [(0, 0)]
        self._put(HEADER_MAGIC, msgspec.msgpack.encode(header))
        self._sizes[0] = (file.tell(), 0)
        self._packing = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)

    def tile(self, records: Sequence[bytes]) -> None:
        """Add a tile of 256 records."""
        content = LENGTHS.pack(*map(len, records)) + b"".join(records)
        packed = self._packing.compress(content)
        self._file.write(packed)
        self._sizes.append((len(packed), len(content)))

    def end(self) -> None:
        """Add the seek table."""
        table = b"".join(_SIZES.pack(*each) for each in self._sizes)
        self._put(TABLE_MAGIC, table + _END.pack(len(self._sizes), 0, SEEKABLE_MAGIC))

    def _put(self, magic: int, content: bytes) -> None:
        self._file.write(_FRAME.pack(magic, len(content)) + content)


class Tile(msgspec.Struct, frozen=True):
    """The records of one tile."""

    ends: tuple[int, ...]  # of each record, the end of the one before first
    content: bytes

    def record(self, number: int) -> bytes:
        """The record of that number, from 0."""
        return self.content[self.ends[number] : self.ends[number + 1]]


class SegmentFile:
    """The file of a segment, open for reading.

    Raises:
        SegmentError: It is missing, cut off, or another one.
    """

    def __init__(self, folder: Path, segment: Segment, log_id: str) -> None:
        self.path, self.segment = folder / segment.name, segment
        try:
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            raise self.damaged("it is missing") from None
        except OSError as error:
            raise self.damaged(f"it cannot be read ({error.strerror or error})") from error
        try:
            if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                raise self.damaged("it is not a plain file")
            self._refuse_other(log_id)
            self._places = self._table()
        except OSError as error:
            self.close()
            raise self.damaged(f"it cannot be read ({error.strerror or error})") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                os.close(descriptor)

    def tile(self, number: int) -> Tile:
        """The tile of that number, from 0."""
        start, size, content_bytes = self._places[number]
        at = self.segment.first + number * LEAVES
        try:
            packed = os.pread(self._descriptor, size, start)
            if zstandard.frame_content_size(packed) != content_bytes:  # before memory is taken
                raise self.damaged("its tile has another size than its seek table says", at)
            content = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES).decompress(packed)
        except (zstandard.ZstdError, MemoryError) as error:
            raise self.damaged(f"its tile cannot be unpacked ({error})", at) from None
        except OSError as error:
            raise self.damaged(f"it cannot be read ({error.strerror or error})", at) from error
        lengths = LENGTHS.unpack_from(content) if len(content) >= LENGTHS.size else ()
        ends = tuple(accumulate(lengths, initial=LENGTHS.size))
        if ends[-1] != len(content):
            raise self.damaged("its tile has other records than their lengths say", at)
        return Tile(ends, content)

    def check_digest(self) -> None:
        """Check that the file has exactly the bytes that its name says.

        Raises:
            SegmentError: It has others.
        """
        if digest_of(self.path) != self.segment.digest:
            raise self.damaged("it has other bytes than its name says")

    def damaged(self, problem: str, position: int = 0) -> SegmentError:
        """The error about this file; without a position, the first one."""
        return SegmentError(str(self.path), problem, position or self.segment.first)

    def _refuse_other(self, log_id: str) -> None:
        header = header_of(os.pread(self._descriptor, MOST_HEADER_BYTES, 0))
        if header is None:
            raise self.damaged("it does not begin as a segment")
        if header.format > SEGMENT_FORMAT:
            raise self.damaged(
                f"it has format {header.format}, and this version reads up to {SEGMENT_FORMAT}"
            )
        if header.log != log_id:
            raise self.damaged(f"it is a segment of another log, {header.log}")
        if header.first != self.segment.first:
            raise self.damaged(f"it is the segment from position {header.first}")

    def _table(self) -> list[tuple[int, int, int]]:
        """Of each tile: where it begins, its bytes, and those of its content."""
        size = os.fstat(self._descriptor).st_size
        frames = self.segment.tiles + 1
        table_bytes = frames * _SIZES.size + _END.size
        whole_bytes = _FRAME.size + table_bytes
        found = os.pread(self._descriptor, whole_bytes, max(0, size - whole_bytes))
        if found[-_END.size :] != _END.pack(frames, 0, SEEKABLE_MAGIC):
            raise self.damaged("it is cut off, or its seek table was changed", self._cut_at())
        sizes = list(_SIZES.iter_unpack(found[_FRAME.size : -_END.size]))
        starts = list(accumulate((each for each, _ in sizes), initial=0))
        if starts[-1] != size - len(found):
            raise self.damaged("its seek table does not fit the file", self._cut_at())
        return [(starts[at], *sizes[at]) for at in range(1, frames)]

    def _cut_at(self) -> int:
        """The first position that cannot be read from the beginning of the file."""
        position = self.segment.first
        with (
            self.path.open("rb") as file,
            suppress(zstandard.ZstdError, struct.error, MemoryError),
        ):
            for _ in unpacked(file, self.segment.tiles):
                position += 1
        return min(position, self.segment.last)


def digest_of(path: Path) -> str:
    """The SHA-256 of a whole file, in hex."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def unpacked(file: BinaryIO, tiles: int) -> Iterator[bytes]:
    """Every record in *file*, read from its beginning to its end.

    Raises:
        ZstdError: A frame is damaged.
        struct.error: It ends before its last record.
    """
    reader = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES).stream_reader(
        file, read_across_frames=True, closefd=False
    )
    for _ in range(tiles):
        for length in LENGTHS.unpack(reader.read(LENGTHS.size)):
            record = reader.read(length)
            if len(record) < length:
                raise struct.error
            yield record


def header_of(data: bytes) -> SegmentHeader | None:
    """The header at the beginning of *data*; None if there is none."""
    if len(data) < _FRAME.size:
        return None
    magic, size = _FRAME.unpack_from(data)
    if magic != HEADER_MAGIC or size > len(data) - _FRAME.size:
        return None
    try:
        return msgspec.msgpack.decode(data[_FRAME.size : _FRAME.size + size], type=SegmentHeader)
    except msgspec.MsgspecError:
        return None
