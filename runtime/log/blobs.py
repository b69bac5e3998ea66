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

from .errors import (
    BlobCorruptError,
    BlobDiskError,
    BlobError,
    BlobFullError,
    BlobMissingError,
    BlobTooLargeError,
)
from .failures import is_full
from .owner import private
from .schema import Durability

DIGEST = re.compile(r"[0-9a-f]{64}")
LEVEL = 3  # of zstd: its own default
LARGEST_BYTES = 256 << 20  # of one blob; four times what a client may put
PIECE_BYTES = 1 << 20
WINDOW_BYTES = 1 << 27  # of memory that unpacking may take for itself
NOTES = "unnamed"  # the folder of what is noted of blobs
STRANDED_S = 3_600.0  # what a put left in tmp/ is its own for as long, however slow the disk


class BlobStore:
    """Blobs as compressed files, ``ab/cdef...`` under *folder*.

    Any number of threads and processes may put at once: a blob appears whole, by a rename, and two
    who put the same bytes put the same file. A kill leaves a file in ``tmp/`` behind at most, which
    the first put of a later store removes; putting the bytes of a damaged blob again mends it.
    """

    def __init__(self, folder: Path | str, *, durability: Durability = "normal") -> None:
        self._folder = Path(folder)
        self._durability = durability
        self._swept = False

    def put(self, data: bytes) -> str:
        """Keep *data*; its digest in hex comes back.

        Raises:
            BlobTooLargeError: It has more than LARGEST_BYTES.
            BlobDiskError: The disk did not take it.
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
        """The bytes of *digest*, checked.

        Raises:
            BlobMissingError: It is not here.
            BlobCorruptError: What is here has another digest.
        """
        return b"".join(self._pieces(digest))

    def check(self, digest: str) -> int:
        """The size of a blob whose bytes were read and are right; little of it is held at once.

        Raises:
            BlobMissingError: It is not here.
            BlobCorruptError: What is here has another digest.
        """
        return sum(map(len, self._pieces(digest)))

    def _pieces(self, digest: str) -> Iterator[bytes]:
        """The bytes, in pieces; what a header claims is not believed, nor allotted."""
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
        """Whether a blob of *digest* is here; it is not read."""
        return DIGEST.fullmatch(digest) is not None and self._path(digest).exists()

    def size(self, digest: str) -> int:
        """Length in bytes of what `get` gives back."""
        return self._claimed(digest, self._read(digest))

    @staticmethod
    def _claimed(digest: str, packed: bytes) -> int:
        """The size that a header names, if a blob can have it."""
        try:
            size = zstandard.frame_content_size(packed)
        except zstandard.ZstdError as error:
            raise BlobCorruptError(digest, str(error)) from error
        if size < 0:
            raise BlobCorruptError(digest, "its header names no size")
        if size > LARGEST_BYTES:
            raise BlobCorruptError(digest, f"its header claims {size:,} bytes, which none has")
        return size

    def touch(self, digest: str) -> bool:
        """Note that somebody is about to name a blob; whether it is here."""
        if not DIGEST.fullmatch(digest):  # it names a file
            return False
        try:
            os.utime(self._path(digest))
        except OSError:
            return False
        return True

    def drop(self, digest: str, idle_s: float) -> bool:
        """Remove a blob unless it was put or touched within *idle_s*; whether it is gone."""
        if not DIGEST.fullmatch(digest):
            return True
        path, aside = self._path(digest), self._folder / "tmp" / uuid.uuid4().hex
        try:
            aside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Out of the way first: who puts it from now on writes it anew.
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
        """Keep *text* about a blob that nobody names yet; a restart does not lose it.

        Raises:
            BlobDiskError: The disk did not take it.
        """
        path = self._folder / NOTES / digest
        if DIGEST.fullmatch(digest):
            with _translated(path):
                self._write(path, text)

    def noted(self) -> dict[str, bytes]:
        """What is noted, by digest."""
        found: dict[str, bytes] = {}
        for path in sorted((self._folder / NOTES).glob("*")):
            with contextlib.suppress(OSError):
                if DIGEST.fullmatch(path.name) and path.is_file():
                    found[path.name] = path.read_bytes()
        return found

    def unnote(self, digest: str) -> None:
        """Forget what is noted of a blob, if anything is."""
        if DIGEST.fullmatch(digest):
            with contextlib.suppress(OSError):
                (self._folder / NOTES / digest).unlink(missing_ok=True)

    def idle(self, idle_s: float) -> Iterator[tuple[str, int]]:
        """Digest, and bytes that it takes, of each that was not put or touched within *idle_s*."""
        until_s = time.time() - idle_s
        for path in sorted(self._folder.glob("??/*")):
            digest = path.parent.name + path.name
            with contextlib.suppress(OSError):  # it went meanwhile
                status = path.lstat()
                if DIGEST.fullmatch(digest) and status.st_mtime <= until_s:
                    yield digest, status.st_size

    def _intact(self, digest: str) -> bool:
        # Without an fsync a power loss can leave an empty file under the name: putting it heals it.
        try:
            self.check(digest)
        except BlobError:
            return False
        return True

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest[2:]

    def _read(self, digest: str) -> bytes:
        if not DIGEST.fullmatch(digest):  # also keeps a path out of a name
            raise BlobMissingError(digest)
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError as error:
            raise BlobMissingError(digest) from error
        except OSError as error:
            raise BlobCorruptError(digest, error.strerror or str(error)) from error

    def _sweep(self) -> None:
        """Remove, once, what puts that were killed left behind."""
        if self._swept:
            return
        self._swept = True
        until_s = time.time() - STRANDED_S
        for path in (self._folder / "tmp").glob("*"):
            with contextlib.suppress(OSError):  # another store sweeps as well
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
            _sync_folder(path.parent)
            _sync_folder(self._folder)


class MemoryBlobs:
    """The same contract, without a disk."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}
        self._notes: dict[str, bytes] = {}
        self._touched_s: dict[str, float] = {}

    def put(self, data: bytes) -> str:
        """Keep *data*; its digest in hex comes back."""
        digest = sha256(data).hexdigest()
        self._blobs[digest] = bytes(data)
        self._touched_s[digest] = time.monotonic()
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of *digest*.

        Raises:
            BlobMissingError: It is not here.
        """
        try:
            return self._blobs[digest]
        except KeyError:
            raise BlobMissingError(digest) from None

    def has(self, digest: str) -> bool:
        """Whether a blob of *digest* is here."""
        return digest in self._blobs

    def size(self, digest: str) -> int:
        """Length in bytes of what `get` gives back."""
        return len(self.get(digest))

    def touch(self, digest: str) -> bool:
        """Note that somebody is about to name a blob; whether it is here."""
        if digest not in self._blobs:
            return False
        self._touched_s[digest] = time.monotonic()
        return True

    def drop(self, digest: str, idle_s: float) -> bool:
        """Remove a blob unless it was put or touched within *idle_s*; whether it is gone."""
        if self._touched_s.get(digest, 0.0) > time.monotonic() - idle_s:
            return False
        self._blobs.pop(digest, None)
        self._touched_s.pop(digest, None)
        return True

    def note(self, digest: str, text: bytes) -> None:
        """Keep *text* about a blob that nobody names yet."""
        self._notes[digest] = text

    def noted(self) -> dict[str, bytes]:
        """What is noted, by digest."""
        return dict(self._notes)

    def unnote(self, digest: str) -> None:
        """Forget what is noted of a blob, if anything is."""
        self._notes.pop(digest, None)

    def idle(self, idle_s: float) -> Iterator[tuple[str, int]]:
        """Digest and bytes of each that was not put or touched within *idle_s*."""
        until_s = time.monotonic() - idle_s
        for digest, data in sorted(self._blobs.items()):
            if self._touched_s[digest] <= until_s:
                yield digest, len(data)


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Raise a BlobError in place of what the system raises inside."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise BlobFullError(str(path)) from error
        raise BlobDiskError(str(path), error.strerror or str(error)) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
