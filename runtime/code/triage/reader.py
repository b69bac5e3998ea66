"""Stream a log of any size from a file, a gzip file or a pipe into a bounded ``Log``."""

import codecs
import gzip
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from cortex.bus import CortexError, with_fields

from .keep import MAX_CHARS, MAX_LINES, BoundedLines
from .lines import MAX_LINE_CHARS, clean, split

_CHUNK_BYTES = 1 << 20
_MAX_PENDING_CHARS = 1 << 18  # of a line without an end
_GZIP_MAGIC = b"\x1f\x8b"
_MAGICS = {
    b"PK\x03\x04": "a zip archive",
    b"\xfd7zXZ": "an xz file",
    b"(\xb5/\xfd": "a zstd file",
    b"BZh": "a bzip2 file",
    b"\x7fELF": "a program",
    b"%PDF": "a PDF",
}
_BINARY_SHARE = 0.05  # of control bytes that no terminal understands
_STRAY_BYTES = 4  # that a short log may hold and still be one
_TEXT_CONTROL = frozenset(b"\t\n\r\x1b\x07\x08\x0b\x0c")
EXACT_CHARS = 4_000_000  # counted whole: about half a second
_SAMPLE = 8  # beyond them one piece in so many is counted, for the others too


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of one log that were kept, cleaned, with their numbers in the original."""

    source: str
    numbers: Sequence[int]  # 1-based, ascending; texts[i] is line numbers[i]
    texts: Sequence[str]
    lines: int  # in the original
    size_bytes: int  # of the original, after gzip
    tokens: int | None = None  # of the original, where a counter was given; see `Tally`

    @property
    def omitted(self) -> int:
        """How many lines were not kept because the log is longer than the bound."""
        return self.lines - len(self.texts)


def read_log(
    source: str | Path | BinaryIO,
    *,
    encoding: str = "utf-8",
    count: Callable[[str], int] | None = None,
    max_lines: int = MAX_LINES,
    max_chars: int = MAX_CHARS,
) -> Log:
    """Read a log, plain or gzip, in one pass and bounded memory.

    Of a log beyond *max_lines* or *max_chars* the lines around failures, the beginning and the
    end are kept. *count* is asked for the tokens of the whole log, piece by piece; of a log beyond
    4 MB, of one piece in eight.

    Bytes that *encoding* does not know become U+FFFD; UTF-16 is recognised by its marks.

    Raises:
        LogUnreadableError: It is missing or forbidden, or ended before it was read whole.
        LogBinaryError: It is not text.
    """
    name = str(source) if isinstance(source, str | Path) else str(getattr(source, "name", "stream"))
    try:
        if isinstance(source, str | Path):
            with Path(source).open("rb") as file:
                return _read(file, name, encoding, count, BoundedLines(max_lines, max_chars))
        return _read(source, name, encoding, count, BoundedLines(max_lines, max_chars))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise LogUnreadableError(name, reason) from error


def parse_log(text: str, *, source: str = "text") -> Log:
    """Return the log that *text* is."""
    bounded = BoundedLines()
    lines = _Lines(bounded)
    lines.feed(text)
    return Log(
        source=source,
        numbers=bounded.numbers,
        texts=bounded.texts,
        lines=lines.close(),
        size_bytes=len(text.encode("utf-8", "replace")),
    )


def _read(
    file: BinaryIO,
    name: str,
    encoding: str,
    count: Callable[[str], int] | None,
    bounded: BoundedLines,
) -> Log:
    head = file.read(_CHUNK_BYTES)
    packed = head.startswith(_GZIP_MAGIC)
    raw = _Rejoined(head, file)
    chunks = _chunks(
        cast("BinaryIO", gzip.GzipFile(fileobj=cast("BinaryIO", raw))) if packed else raw
    )
    size_bytes = 0
    tally = TokenTally(count)
    first = next(chunks, b"")
    encoding = _encoding_of(first, name, encoding)
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    text = _Lines(bounded)
    for data in _chain(first, chunks):
        size_bytes += len(data)
        decoded = decoder.decode(data)
        tally.add(decoded)
        text.feed(decoded)
    text.feed(decoder.decode(b"", final=True))
    lines = text.close()
    _refuse_if_it_shrank(file, raw.read_bytes, name)
    return Log(
        source=name,
        numbers=bounded.numbers,
        texts=bounded.texts,
        lines=lines,
        size_bytes=size_bytes,
        tokens=tally.tokens,
    )


class _Lines:
    """Cut decoded text at line ends and hand whole lines to *bounded*."""

    def __init__(self, bounded: BoundedLines) -> None:
        self._bounded, self._pending, self._number = bounded, "", 0

    def feed(self, text: str) -> None:
        cut = text.rfind("\n")
        if cut < 0:
            # Only the start of an endless line is of use, and of progress only the end.
            self._pending += text
            if len(self._pending) > _MAX_PENDING_CHARS:
                self._pending = self._pending[:MAX_LINE_CHARS] + "\r" + text[-MAX_LINE_CHARS:]
            return
        self._emit(self._pending + text[:cut])
        self._pending = text[cut + 1 :]

    def close(self) -> int:
        if self._pending:
            self._emit(self._pending)
        return self._number

    def _emit(self, text: str) -> None:
        lines = split(clean(text))
        self._bounded.add(self._number + 1, lines)
        self._number += len(lines)


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes were already looked at."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest, self.read_bytes = head, rest, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
        else:
            data = self._rest.read(size)
        self.read_bytes += len(data)
        return data


def _chunks(file: BinaryIO | _Rejoined) -> Iterator[bytes]:
    while data := file.read(_CHUNK_BYTES):
        yield data


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
        yield from rest


def _encoding_of(head: bytes, name: str, encoding: str) -> str:
    for magic, looks_like in _MAGICS.items():
        if head.startswith(magic):
            raise LogBinaryError(name, looks_like)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    probe = head[: 1 << 16]
    if probe[1::2].count(0) > len(probe) * 0.4 > probe[::2].count(0) * 10:
        return "utf-16-le"  # what PowerShell writes, cut out of its file
    spoken = probe.replace(b"\0", b"")
    control = sum(1 for byte in spoken if byte < 32 and byte not in _TEXT_CONTROL)
    if control > max(_STRAY_BYTES, len(spoken) * _BINARY_SHARE) or (probe and not spoken):
        raise LogBinaryError(name, "binary data")
    return encoding


def _refuse_if_it_shrank(file: BinaryIO, read_bytes: int, name: str) -> None:
    try:
        status = os.fstat(file.fileno())
    except (OSError, AttributeError):
        return  # no file behind it
    if stat.S_ISREG(status.st_mode) and status.st_size < read_bytes:
        raise LogUnreadableError(name, f"it was cut to {status.st_size} bytes while being read")


class TokenTally:
    """Adds up the tokens of the pieces of a log; without a counter there is no sum."""

    def __init__(self, count: Callable[[str], int] | None) -> None:
        self._count = count
        self._tokens = 0
        self._chars = self._counted = self._skipped = 0

    def add(self, piece: str) -> None:
        """Count *piece*, or skip it where enough was counted."""
        self._chars += len(piece)
        if self._count is None:
            return
        if self._chars > EXACT_CHARS and self._skipped < _SAMPLE - 1:
            self._skipped += 1
            return
        self._tokens += self._count(piece)
        self._counted += len(piece)
        self._skipped = 0

    @property
    def tokens(self) -> int | None:
        """Tokens of all pieces: where some were skipped, in proportion to their characters."""
        if self._count is None:
            return None
        scale = self._chars / self._counted if self._counted else 1.0
        return round(self._tokens * scale)


# CortexError
# └── LogError             nothing can be said about this log
#     ├── LogUnreadableError   it is missing, forbidden, cut or vanished: fetch it again
#     └── LogBinaryError       it is no text: unpack it first


class LogError(CortexError):
    """A log could not be turned into lines."""


@with_fields
class LogUnreadableError(LogError):
    """The log is missing, may not be read, or ended before it was read whole."""

    source: str
    reason: str

    says = "cannot read the log {source}: {reason}; fetch it again, then retry"


@with_fields
class LogBinaryError(LogError):
    """The log holds bytes that are no text in any encoding that logs come in."""

    source: str
    looks_like: str

    says = (
        "{source} is {looks_like}, not a text log: unpack it and pass the plain or gzip text inside"
    )
