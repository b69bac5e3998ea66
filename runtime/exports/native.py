"""The export of the log itself: all that an import needs to make the same log again."""

from collections.abc import Iterator
from hashlib import sha256

from cortex.bus import LOOKED_INTO_BYTES, decode, names_in
from cortex.runtime.kernel import VERSION
from cortex.runtime.log import BlobError, LogTree
from cortex.runtime.serving.doctor import blobs_of
from cortex.runtime.subjects import stored_blobs

from .lines import FORMAT, PIECE_BYTES, BlobLine, EndLine, Line, LogLine, encode, event_line
from .source import Source


def lines_of(source: Source) -> Iterator[bytes]:
    """The lines of the log in *source*, and of the blobs that its events name."""
    packed = _Blobs(source)
    yield _line(
        LogLine(
            format=FORMAT,
            cortex=VERSION,
            log_id=source.meta.log_id,
            created_ns=source.meta.created_ns,
            first=source.first,
            last=source.last,
        )
    )
    for data, shown in source.records():
        record = decode(shown)
        named = names_in(shown)
        if named:
            yield from packed.before(named)
            packed.count_missing(named & blobs_of(record))
        yield _line(event_line(record, data))
        source.counts.events += 1
    with LogTree(source.log, source.last) as tree:
        source.counts.root = tree.root()
    counts = source.counts
    yield _line(
        EndLine(events=counts.events, blobs=counts.blobs, size=source.last, root=counts.root)
    )


class _Blobs:
    """Gives each blob once, with the blobs that it names before it."""

    def __init__(self, source: Source) -> None:
        self._blobs, self._counts = source.history.blobs, source.counts
        self._stored = stored_blobs(self._blobs)  # what the digests are of
        self._given, self._missing = set[bytes](), set[bytes]()  # digests; as bytes, they are small

    def before(self, named: set[str]) -> Iterator[bytes]:
        waiting = sorted(named)
        while waiting:
            digest = waiting.pop()
            short = bytes.fromhex(digest)
            if short in self._given or not self._stored.has(digest):
                continue
            try:
                data = self._stored.get(digest)
            except BlobError:
                continue  # a damaged one counts as missing
            self._given.add(short)
            self._counts.blobs += 1
            if len(data) <= LOOKED_INTO_BYTES:
                waiting += sorted(self._named_within(digest))
            yield from _pieces(digest, data)

    def _named_within(self, digest: str) -> set[str]:
        try:
            return names_in(self._blobs.get(digest))
        except BlobError:  # its subject was erased, and what it named cannot be known
            return set()

    def count_missing(self, named: set[str]) -> None:
        self._missing |= {bytes.fromhex(digest) for digest in named} - self._given
        self._counts.missing = len(self._missing)


def _pieces(digest: str, data: bytes) -> Iterator[bytes]:
    for at in range(0, max(len(data), 1), PIECE_BYTES):
        piece = data[at : at + PIECE_BYTES]
        yield _line(BlobLine(digest=digest, size=len(data), at=at, data=piece))


def is_blob(digest: str, data: bytes | bytearray) -> bool:
    """Whether *data* are the bytes of *digest*."""
    return sha256(data).hexdigest() == digest


def _line(line: Line) -> bytes:
    return encode(line) + b"\n"
