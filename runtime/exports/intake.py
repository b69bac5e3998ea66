"""Reads an export line by line, and checks all of it before anybody uses what it makes."""

import re
from typing import Any, BinaryIO, NoReturn, Protocol

import msgspec

from cortex.bus import ENCRYPTED as NEWEST_FORMAT
from cortex.bus import Recorded, Row
from cortex.bus import decode as decode_record
from cortex.bus import encode as encode_record
from cortex.bus.events import VOCABULARY
from cortex.runtime.log import LARGEST_BYTES, Checker, Meta, leaf_hash

from .errors import ExportDamagedError, ExportNewerError
from .lines import (
    FORMAT,
    LINE_BYTES,
    BlobLine,
    EndLine,
    EventLine,
    Line,
    LogLine,
    decode,
    encode,
    event_line,
)
from .native import is_blob

_LOG_ID = re.compile(r"[0-9a-f]{32}")


class Sink(Protocol):
    """Takes what an export holds."""

    def begin(self, meta: Meta) -> None:
        """Make the log, which is *meta*."""
        ...

    def event(self, row: Row) -> None:
        """Take the next event."""
        ...

    def blob(self, data: bytes) -> None:
        """Take a blob."""
        ...


class Intake:
    """One pass over an export."""

    def __init__(self, source: BinaryIO, sink: Sink) -> None:
        self._source, self._sink = source, sink
        self.number = 0  # of the line that is read
        self.events = self.blobs = 0
        self._checker, self._time_ns = Checker(), 0
        self._blob: BlobLine | None = None  # one that is not complete yet, by its first line
        self._data = bytearray()

    def take(self) -> EndLine:
        """Give everything to the sink; the last line comes back, with the root of the tree.

        Raises:
            ExportDamagedError: A line is not what was written, or one is missing.
            ExportNewerError: A newer Cortex wrote it.
        """
        self._begin()
        while True:
            text = self._text()
            line = self._line(text)
            if self._blob is not None and not isinstance(line, BlobLine):
                self._refuse(f"blob {self._blob.digest} is not complete")
            match line:
                case EventLine():
                    self._event(line, text)
                case BlobLine():
                    self._piece(line)
                case EndLine():
                    return self._end(line)
                case LogLine():
                    self._refuse("it begins another export")

    def _begin(self) -> None:
        text = self._text()
        try:
            head = msgspec.json.decode(text, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            head = {}
        if head.get("kind") != "log":
            self._refuse("an export of a log begins with its head, and this is something else")
        found = head.get("format")
        if isinstance(found, int) and found > FORMAT:
            problem = f"its format is {found}, and this version reads up to {FORMAT}"
            raise ExportNewerError(self.number, problem)
        line = self._line(text)
        if not isinstance(line, LogLine) or line.format != FORMAT:
            self._refuse(f"the format is not {FORMAT}")
        if line.first != 1:
            self._refuse(
                f"it begins at event {line.first:,}, and a home begins at 1: export the log "
                "without --from"
            )
        if not _LOG_ID.fullmatch(line.log_id):
            self._refuse("the id of the log is not one")
        self._sink.begin(Meta(0, line.created_ns, line.log_id))

    def _text(self) -> bytes:
        self.number += 1
        text = self._source.readline(LINE_BYTES + 1)
        if not text.endswith(b"\n"):
            if len(text) > LINE_BYTES:
                self._refuse(f"it has more than {LINE_BYTES:,} bytes")
            self._refuse("the export ends here, and not with its last line: it was cut off")
        return text[:-1]

    def _line(self, text: bytes) -> Line:
        try:
            line: Line = decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._refuse(str(error))
        return line

    def _event(self, line: EventLine, text: bytes) -> None:
        expected = self._checker.position + 1
        try:
            record = decode_record(line.record)
            whole = event_line(record, line.record)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
            self._refuse(f"its record cannot be decoded ({error})")
        self._refuse_newer(record)
        if record.position != expected:
            self._refuse(
                f"it is event {record.position:,}, and {expected:,} was expected: the export has "
                "a gap"
            )
        row = (record.position, record.stream, record.version, line.record)
        problem = self._checker.check(row, leaf_hash(line.record))
        if not problem and encode_record(record) != line.record:
            problem = "its record is not in the form in which Cortex writes one"
        if not problem and record.time_ns < self._time_ns:
            problem = "its time is before that of the event before"
        if not problem and record.causation and record.causation >= record.position:
            problem = f"event {record.causation:,} is said to have caused it"
        if not problem and not _same(_as_said(whole, record, line), text):
            problem = "what is readable of the event is not what its record says"
        if problem:
            self._refuse(problem)
        self._time_ns = record.time_ns
        self.events += 1
        self._sink.event(Row(*row))

    def _refuse_newer(self, record: Recorded) -> None:
        known = VOCABULARY.classes().get(record.topic)
        if record.format > NEWEST_FORMAT:
            problem = f"the format of a record is {record.format}, and {NEWEST_FORMAT} is known"
        elif known is not None and record.schema > known.schema:
            problem = f"{record.topic} has schema {record.schema}, and {known.schema} is known"
        else:
            return
        raise ExportNewerError(self.number, problem)

    def _piece(self, line: BlobLine) -> None:
        before = self._blob or line
        if not 0 <= line.size <= LARGEST_BYTES:
            self._refuse(f"a blob of {line.size:,} bytes is more than there can be")
        if (line.digest, line.size, line.at) != (before.digest, before.size, len(self._data)):
            self._refuse(f"another piece of blob {before.digest} was expected")
        self._data += line.data
        self._blob = before
        if len(self._data) < line.size and line.data:
            return
        if not is_blob(line.digest, self._data):
            self._refuse(f"blob {line.digest} has other bytes than its digest says")
        self._sink.blob(bytes(self._data))
        self._blob, self._data = None, bytearray()
        self.blobs += 1

    def _end(self, line: EndLine) -> EndLine:
        if (line.events, line.size, line.blobs) != (self.events, self.events, self.blobs):
            self._refuse(
                f"it tells of {line.events:,} events and {line.blobs:,} blobs, and there are "
                f"{self.events:,} and {self.blobs:,}"
            )
        if self._source.readline(1):
            self.number += 1
            self._refuse("the export ended before it")
        return line

    def _refuse(self, problem: str) -> NoReturn:
        raise ExportDamagedError(self.number, problem)


def _as_said(whole: EventLine, record: Recorded, line: EventLine) -> EventLine:
    """*whole*, as the line says it where only the exporting home could read the record."""
    return msgspec.structs.replace(whole, body=line.body) if record.erased else whole


def _same(whole: EventLine, text: bytes) -> bool:
    """Whether *text* says what *whole* does, however it is spelled; more fields do no harm."""
    written = encode(whole)
    if written == text:
        return True
    try:
        said = msgspec.json.decode(text)
    except RecursionError:
        return False
    return all(said.get(name) == value for name, value in msgspec.json.decode(written).items())
