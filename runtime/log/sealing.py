"""Seals the oldest records of a log: into a file of the archive, and out of the table `events`.

The order makes every kill harmless. The file is written, synced, renamed, and compared with the
leaf hashes; `log.segment_sealed` is recorded; one transaction notes where the records are now, and
readers use the file from then on; short transactions remove them from the table. The next sealing
continues wherever that ended: it takes a whole file that is there already, and does not record
again what is recorded.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from cortex.bus import decode, steady_s
from cortex.bus.events import LogAnswer, LogSegmentSealed

from .archive import Places, forget, rows_of
from .checked import FORGED
from .durable import sync, whole_file
from .errors import LogCorruptError, LogDiskError, LogFullError, SegmentError
from .failures import is_full
from .schema import checkpoint
from .segments import SEGMENT_FORMAT, Segment, SegmentHeader, SegmentWriter, digest_of
from .sqlite import EventLog
from .statements import put_many
from .tiles import HASH_BYTES, LEAVES, leaf_hash, whole_tiles

SEGMENT: Final = 64 * LEAVES  # the most events of a segment
SEGMENT_BYTES: Final = 64 << 20  # of records; a segment ends with the tile that reaches it
TILE_BYTES: Final = 1 << 40  # no bound: a tile is read whole
ROWS: Final = 128  # that one transaction adds or removes
CHECKPOINT: Final = 32  # transactions after which the write-ahead log is emptied
PRIVATE: Final = 0o700
DRAFT: Final = ".new"  # end of the name of a file that is being written
NAME: Final = re.compile(r"[0-9]{12,}-([0-9]{12,})-([0-9a-f]{64})\.zst")

Result = TypeVar("Result")
Publish = Callable[[LogSegmentSealed], object]
Pause = Callable[[float], bool]  # waits so many seconds; True to end
Sealed = tuple[Segment, Places, int]  # and the bytes of its records


def due(log: EventLog, age_ns: int, table_bytes: int) -> int:
    """Up to which position the next segment is sealed by policy; 0 if none is due.

    Args:
        log: The log.
        age_ns: Records that are so much older than the newest one are sealed; 0 for none.
        table_bytes: Records are sealed while log.db has more in use; 0 for none.
    """
    last = log.archive.through + SEGMENT
    if last >= log.head:
        return 0
    if table_bytes and log.table_bytes > table_bytes:
        return last
    oldest_ns, newest_ns = (
        decode(log.read(position - 1, 1, 1)[0]).time_ns for position in (last, log.head)
    )
    return last if age_ns and newest_ns - oldest_ns >= age_ns else 0


class _Ended(Exception):  # noqa: N818  # nothing is wrong
    """The pause said that it is time to end; the next sealing continues."""


class Sealer:
    """Seals segments of the log that this process owns; one thread at a time may use it.

    Args:
        log: The log.
        publish: Records the event; returns once it is on disk.
        pause: Waits between two transactions, so that publishers have their turn.
    """

    def __init__(self, log: EventLog, publish: Publish, pause: Pause = lambda _: False) -> None:
        self._log, self._publish, self._pause = log, publish, pause
        self._folder = log.archive.folder
        self._transactions = 0
        self._ended = False  # the pause said so

    def seal(self, through: int, by: str) -> LogSegmentSealed | None:
        """Seal the next segment, at most up to position *through*.

        Returns:
            None if there is no whole tile to seal, or the pause ended it.

        Raises:
            LogCorruptError: A record is not what was recorded: nothing was changed.
            LogError: The file cannot be written, or the event not be recorded.
        """
        self.trim()
        first = self._log.archive.through + 1
        # The newest event stays in the table: it says where the log ends.
        last = whole_tiles(min(through, self._log.head - 1, first + SEGMENT - 1))
        if last < first:
            return None
        try:
            segment, places, record_bytes = self._packed(first, last)
        except _Ended:
            return None
        sealed = LogSegmentSealed(
            first=segment.first,
            last=segment.last,
            digest=segment.digest,
            record_bytes=record_bytes,
            file_bytes=segment.file_bytes,
            by=by,
        )
        newest = self._newest()
        if (newest.get("first"), newest.get("digest")) != (sealed.first, sealed.digest):
            if newest.get("first") == sealed.first:  # its file was lost: no row must tell of it
                self._log.note(partial(forget, first=sealed.first))
            self._publish(sealed)
        self._note(segment, places)
        self.trim()
        return sealed

    def answer(self, through: int, by: str) -> LogAnswer:
        """The same for who asked."""
        done = self.seal(through, by)
        sealed = self._log.archive.through
        if done is None:
            return LogAnswer(through=sealed)
        return LogAnswer(
            through=sealed,
            first=done.first,
            last=done.last,
            digest=done.digest,
            record_bytes=done.record_bytes,
            file_bytes=done.file_bytes,
        )

    def trim(self) -> None:
        """Remove what is in the archive from the table; after a pause that ends it, call again."""
        left = self._log.trim(0)
        while left:
            if self._ended:
                return
            left = self._in_turn(partial(self._log.trim, ROWS))

    def _note(self, segment: Segment, places: Places) -> None:
        """Note where the records are now: what comes last has readers look there."""
        rows = rows_of(segment, places)
        for start in range(0, len(rows), ROWS):
            chunk = rows[start : start + ROWS]
            put = partial(put_many, verb="replace into sealed", rows=chunk)
            self._in_turn(partial(self._log.note, put))
        row = msgspec.structs.astuple(segment)
        self._log.note(partial(put_many, verb="insert into segments", rows=[row]))

    def _in_turn(self, work: Callable[[], Result]) -> Result:
        """Do *work*, a short transaction, and leave as much time to others."""
        began = steady_s()
        done = work()
        self._transactions += 1
        if self._transactions % CHECKPOINT == 0:
            checkpoint(self._log.path)
        self._ended = self._pause(steady_s() - began)
        return done

    def _each_in_turn(self, numbers: range) -> Iterator[int]:
        """Each of *numbers*; after the work on each, as much time is left to others.

        A publisher queues for the GIL at each statement: a thread that computes holds it up.
        """
        for number in numbers:
            began = steady_s()
            yield number
            if self._pause(steady_s() - began):
                raise _Ended

    def _packed(self, first: int, last: int) -> Sealed:
        """The file of the records from *first*, at most to *last*; it may be there already."""
        try:
            self._clean()
            return self._found(first) or self._written(first, last)
        except OSError as error:
            path = str(error.filename or self._folder)
            if is_full(error):
                raise LogFullError(path) from error
            raise LogDiskError(path, error.strerror or str(error)) from error

    def _written(self, first: int, last: int) -> Sealed:
        """Write the file of the records from *first*, at most to *last*."""
        header = SegmentHeader(SEGMENT_FORMAT, self._log.meta().log_id, first)
        self._folder.mkdir(mode=PRIVATE, exist_ok=True)
        draft = self._folder / f"{first:012}{DRAFT}"
        end, size_bytes = first - 1, 0
        try:
            with whole_file(draft) as file:
                writer = SegmentWriter(file, header)
                for start in self._each_in_turn(range(first, last, LEAVES)):
                    records = self._tile(start)
                    writer.tile(records)
                    end, size_bytes = start + LEAVES - 1, size_bytes + sum(map(len, records))
                    if size_bytes >= SEGMENT_BYTES:
                        break
                writer.end()
            segment = Segment(first, end, digest_of(draft), draft.stat().st_size)
            draft.replace(self._folder / segment.name)
        finally:
            draft.unlink(missing_ok=True)
        sync(self._folder)
        return self._compared(segment)

    def _tile(self, start: int) -> Sequence[bytes]:
        """The records of the tile from position *start*, as they were recorded."""
        records = self._log.read(start - 1, LEAVES, TILE_BYTES)
        problem = differing(records, self._log.leaf_hashes(start, start + LEAVES - 1))
        if problem is not None:
            raise LogCorruptError(str(self._log.path), FORGED, start + problem)
        return records

    def _compared(self, segment: Segment) -> Sealed:
        """Where the records of the file are, after each was compared with its leaf hash."""
        places: Places = {}
        size_bytes = 0
        with closing(self._log.archive.opened(segment)) as file:
            for number in self._each_in_turn(range(segment.tiles)):
                start, tile = segment.first + number * LEAVES, file.tile(number)
                records = [tile.record(at) for at in range(LEAVES)]
                problem = differing(records, self._log.leaf_hashes(start, start + LEAVES - 1))
                if problem is not None:
                    raise file.damaged(FORGED, start + problem)
                size_bytes += sum(map(len, records))
                for position, known in enumerate(map(decode, records), start):
                    places.setdefault(known.stream, (known.version, []))[1].append(position)
            file.check_digest()
        return segment, places, size_bytes

    def _found(self, first: int) -> Sealed | None:
        """A file from *first* on that is there already: a kill came before it was noted."""
        for path in sorted(self._folder.glob(f"{first:012}-*")):
            name = NAME.fullmatch(path.name)
            last = int(name[1]) if name else 0
            if name and first < last < self._log.head and whole_tiles(last) == last:
                segment = Segment(first, last, name[2], path.stat().st_size)
                with suppress(SegmentError):  # it is not what was recorded: another one is written
                    return self._compared(segment)
        return None

    def _newest(self) -> dict[str, Any]:
        """What the newest of these events says; nothing if there is none."""
        stream, _ = LogSegmentSealed.belongs
        version = self._log.stream_version(stream)
        for record in self._log.read_stream(stream, version - 1, 1) if version else ():
            return msgspec.msgpack.decode(decode(record).body, type=dict[str, Any])
        return {}

    def _clean(self) -> None:
        """Remove what a kill has left of a file that was being written."""
        for path in [*self._folder.glob(f"*{DRAFT}"), *self._folder.glob(f"*{DRAFT}.*.part")]:
            path.unlink(missing_ok=True)


def differing(records: Sequence[bytes], leaves: bytes) -> int | None:
    """The first of a tile's *records* that does not have its leaf hash; None if all have."""
    made = b"".join([leaf_hash(record) for record in records])
    if made == leaves:
        return None
    for at in range(LEAVES):
        each = slice(at * HASH_BYTES, (at + 1) * HASH_BYTES)
        if made[each] != leaves[each]:
            return at
    return None
