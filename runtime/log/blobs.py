"""Large payloads by digest: an event names the digest, so the log's tree covers the bytes."""

import contextlib
import os
import re
import time
import uuid
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import zstandard

from cortex.bus import steady_s

from .durable import private, sync
from .errors import (
    BlobCorruptError,
    BlobDiskError,
    BlobError,
    BlobFullError,
    BlobMissingError,
    BlobTooLargeError,
)
from .failures import is_full
from .schema import Durability

DIGEST = re.compile(r"[0-9a-f]{64}")
LEVEL = 3  # of zstd, its default
LARGEST_BYTES = 256 << 20  # of one blob; four times the limit of a client
PIECE_BYTES = 1 << 20
WINDOW_BYTES = 1 << 27  # memory limit for decompression
NOTES = "unnamed"  # the folder of notes about blobs
STRANDED_S = 3_600.0  # a file in tmp/ may be in use for this long, even on a slow disk


class BlobStore:
    """Blobs as compressed files, ``ab/cdef...`` under *folder*.

    Any number of threads and processes may put at once: a rename makes a blob visible, and two
    puts of the same bytes write the same file. A kill leaves at most a file in ``tmp/``, which
    the first put of a later store removes; another put of the same bytes repairs a damaged blob.
    """

    def __init__(self, folder: Path | str, *, durability: Durability = "normal") -> None:
        self._folder = Path(folder)
        self._durability = durability
        self._swept = False

    def put(self, data: bytes) -> str:
        """Keep *data* and return its digest in hex.

        Raises:
            BlobTooLargeError: It has more than LARGEST_BYTES.
            BlobDiskError: The disk could not write it.
        """
        if len(data) > LARGEST_BYTES:
            raise BlobTooLargeError(len(data), LARGEST_BYTES)
        digest = sha256(data).hexdigest()
        if not (self._intact(digest) and self.touch(digest)):
            path = self._path(digest)
            with _translated(path):
                self._sweep()
                self._write(path, zstandard.ZstdCompressor(LEVEL).compress(data))
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of *digest*, verified.

        Raises:
            BlobMissingError: There is no such blob.
            BlobCorruptError: The stored bytes have another digest.
        """
        return b"".join(self._pieces(digest))

    def check(self, digest: str) -> int:
        """The size of a blob, after a check of its bytes; it uses little memory.

        Raises:
            BlobMissingError: There is no such blob.
            BlobCorruptError: The stored bytes have another digest.
        """
        return sum(map(len, self._pieces(digest)))

    def _pieces(self, digest: str) -> Iterator[bytes]:
        """The bytes, in pieces; the size in the header is neither trusted nor allocated."""
        packed = self._read(digest)
        size = self._claimed(digest, packed)
        known, told = sha256(), 0
        unpacking = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES)
        try:
            with unpacking.stream_reader(packed, read_across_frames=False) as pieces:
                while piece := pieces.read(min(PIECE_BYTES, size + 1)):
                    told += len(piece)
                    if told > size:
                        raise BlobCorruptError(digest, "it holds more than its header says")
                    known.update(piece)
                    yield piece
        except (zstandard.ZstdError, MemoryError) as error:
            raise BlobCorruptError(digest, str(error)) from error
        if known.hexdigest() != digest:
            raise BlobCorruptError(digest, "its bytes have another digest")

    def has(self, digest: str) -> bool:
        """Whether a blob of *digest* exists; does not read it."""
        return DIGEST.fullmatch(digest) is not None and self._path(digest).exists()

    def size(self, digest: str) -> int:
        """Length in bytes of what `get` returns."""
        return self._claimed(digest, self._read(digest))

    @staticmethod
    def _claimed(digest: str, packed: bytes) -> int:
        """The size in a header, if it is possible for a blob."""
        try:
            size = zstandard.frame_content_size(packed)
        except zstandard.ZstdError as error:
            raise BlobCorruptError(digest, str(error)) from error
        if size < 0:
            raise BlobCorruptError(digest, "its header names no size")
        if size > LARGEST_BYTES:
            raise BlobCorruptError(digest, f"its header claims {size:,} bytes, over the limit")
        return size

    def touch(self, digest: str) -> bool:
        """Note that an event is about to name a blob; return whether it exists."""
        if not DIGEST.fullmatch(digest):  # it names a file
            return False
        try:
            os.utime(self._path(digest))
        except OSError:
            return False
        return True

    def drop(self, digest: str, idle_s: float) -> bool:
        """Remove a blob unless it was put or touched within *idle_s*; return whether it is gone."""
        if not DIGEST.fullmatch(digest):
            return True
        path, aside = self._path(digest), self._folder / "tmp" / uuid.uuid4().hex
        try:
            aside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Moved away first: a put from now on writes a new file.
            path.rename(aside)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        if aside.stat().st_mtime > time.time() - idle_s:
            aside.replace(path)
            return False
        aside.unlink()
        return True

    def note(self, digest: str, text: bytes) -> None:
        """Keep *text* about a blob that no event names yet; a restart does not lose it.

        Raises:
            BlobDiskError: The disk could not write it.
        """
        path = self._folder / NOTES / digest
        if DIGEST.fullmatch(digest):
            with _translated(path):
                self._write(path, text)

    def noted(self) -> dict[str, bytes]:
        """The notes, by digest."""
        found: dict[str, bytes] = {}
        for path in sorted((self._folder / NOTES).glob("*")):
            with contextlib.suppress(OSError):
                if DIGEST.fullmatch(path.name) and path.is_file():
                    found[path.name] = path.read_bytes()
        return found

    def unnote(self, digest: str) -> None:
        """Remove the note about a blob, if there is one."""
        if DIGEST.fullmatch(digest):
            with contextlib.suppress(OSError):
                (self._folder / NOTES / digest).unlink(missing_ok=True)

    def idle(self, idle_s: float) -> Iterator[tuple[str, int]]:
        """Digest and size in bytes of each blob that was not put or touched within *idle_s*."""
        until_s = time.time() - idle_s
        for path in sorted(self._folder.glob("??/*")):
            digest = path.parent.name + path.name
            with contextlib.suppress(OSError):  # removed meanwhile
                status = path.lstat()
                if DIGEST.fullmatch(digest) and status.st_mtime <= until_s:
                    yield digest, status.st_size

    def _intact(self, digest: str) -> bool:
        # Without an fsync a power loss can leave an empty file under the name: a put repairs it.
        try:
            self.check(digest)
        except BlobError:
            return False
        return True

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest[2:]

    def _read(self, digest: str) -> bytes:
        if not DIGEST.fullmatch(digest):  # so that a name cannot contain a path
            raise BlobMissingError(digest)
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError as error:
            raise BlobMissingError(digest) from error
        except OSError as error:
            raise BlobCorruptError(digest, error.strerror or str(error)) from error

    def _sweep(self) -> None:
        """Remove, once, files that killed puts left."""
        if self._swept:
            return
        self._swept = True
        until_s = time.time() - STRANDED_S
        for path in (self._folder / "tmp").glob("*"):
            with contextlib.suppress(OSError):  # another store may remove them, too
                if path.lstat().st_mtime < until_s:
                    path.unlink()

    def _write(self, path: Path, packed: bytes) -> None:
        temporary = self._folder / "tmp" / uuid.uuid4().hex
        for folder in (self._folder, temporary.parent, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with open(temporary, "xb", opener=private) as file:
                file.write(packed)
                if self._durability == "full":
                    file.flush()
                    os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        if self._durability == "full":
            sync(path.parent)
            sync(self._folder)


class MemoryBlobs:
    """The same contract, in memory."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}
        self._notes: dict[str, bytes] = {}
        self._touched_s: dict[str, float] = {}

    def put(self, data: bytes) -> str:
        """Keep *data* and return its digest in hex."""
        digest = sha256(data).hexdigest()
        self._blobs[digest] = bytes(data)
        self._touched_s[digest] = steady_s()
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of *digest*.

        Raises:
            BlobMissingError: There is no such blob.
        """
        try:
            return self._blobs[digest]
        except KeyError:
            raise BlobMissingError(digest) from None

    def has(self, digest: str) -> bool:
        """Whether a blob of *digest* exists."""
        return digest in self._blobs

    def size(self, digest: str) -> int:
        """Length in bytes of what `get` returns."""
        return len(self.get(digest))

    def touch(self, digest: str) -> bool:
        """Note that an event is about to name a blob; return whether it exists."""
        if digest not in self._blobs:
            return False
        self._touched_s[digest] = steady_s()
        return True

    def drop(self, digest: str, idle_s: float) -> bool:
        """Remove a blob unless it was put or touched within *idle_s*; return whether it is gone."""
        if self._touched_s.get(digest, 0.0) > steady_s() - idle_s:
            return False
        self._blobs.pop(digest, None)
        self._touched_s.pop(digest, None)
        return True

    def note(self, digest: str, text: bytes) -> None:
        """Keep *text* about a blob that no event names yet."""
        self._notes[digest] = text

    def noted(self) -> dict[str, bytes]:
        """The notes, by digest."""
        return dict(self._notes)

    def unnote(self, digest: str) -> None:
        """Remove the note about a blob, if there is one."""
        self._notes.pop(digest, None)

    def idle(self, idle_s: float) -> Iterator[tuple[str, int]]:
        """Digest and bytes of each that was not put or touched within *idle_s*."""
        until_s = steady_s() - idle_s
        for digest, data in sorted(self._blobs.items()):
            if self._touched_s[digest] <= until_s:
                yield digest, len(data)


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Raise a BlobError in place of an OSError."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise BlobFullError(str(path)) from error
        raise BlobDiskError(str(path), error.strerror or str(error)) from error
