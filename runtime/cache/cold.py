"""The third tier: artefacts that left the second one, a zstd file each, in cold/.

A file is named by the digest of the inputs that an artefact was made from, and by that of its
content: `cold/KIND/AB/KEY-CONTENT.zst`, where AB is how KEY begins. It is found without any index,
and `zstd -d` reads it: what the tier knows of it is in a frame that other programs skip. What came
from the data of subjects is under `cold/personal/` instead, where an erasure looks.
"""

import contextlib
import os
import secrets
import shutil
import struct
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import zstandard

from cortex.bus import Logger
from cortex.runtime.log import private

from .artefacts import CacheEntry, is_proven, proof_of

LEVEL: Final = 3  # of zstd
LARGEST_BYTES: Final = 1 << 30  # of a value: a file that claims more is none of ours
LARGEST_HEAD: Final = 1 << 20
END: Final = ".zst"
PERSONAL: Final = "personal"
UNFINISHED: Final = "new."
_SKIPPED: Final = struct.Struct("<II")  # of a zstd frame that readers skip: magic, length
_MAGIC: Final = 0x184D2A5C

logger = Logger("cortex.cache")


class _Head(msgspec.Struct, frozen=True, array_like=True):
    """What a file says of its artefact."""

    kind: str
    inputs: bytes
    version: int
    subjects: tuple[bytes, ...]
    proof: bytes


class ColdState(NamedTuple):
    """How much is there."""

    entries: int
    bytes: int  # of the files


class ColdTier:
    """Files below *folder*; threads and processes may share them."""

    def __init__(self, folder: Path, secret: bytes) -> None:
        self._folder, self._secret = folder, secret
        self.hits = self.misses = self.broken = 0
        self._logged = False

    def put(self, entry: CacheEntry) -> None:
        """Archive *entry*; where the disk does not take it, it is not archived."""
        try:
            if not self._folder.is_symlink():
                self._put(entry)
        except OSError as error:
            if not self._logged:
                self._logged = True
                logger.warning("cold_not_written", path=str(self._folder), error=str(error))

    def get(self, key: bytes) -> CacheEntry | None:
        """The entry under *key*; None if there is none that is whole and proven."""
        for path in self._files_of(key):
            entry = self._read(path, key)
            if entry is not None:
                self.hits += 1
                return entry
            self.broken += 1
            _unlink(path)
        self.misses += 1
        return None

    def drop(self, keys: Iterable[bytes]) -> int:
        """Remove entries; returns how many."""
        return sum(_unlink(path) for key in keys for path in list(self._files_of(key)))

    def forget(self, subject: bytes) -> int:
        """Remove what came from *subject*; returns how many entries."""
        removed = 0
        for path in list(_files(self._folder / PERSONAL)):
            head, _ = _opened(path)
            if head is None or subject in head.subjects:
                removed += _unlink(path)
        return removed

    def clear(self) -> int:
        """Remove everything; returns how many entries."""
        if self._folder.is_symlink():
            return 0
        removed = self.state().entries
        shutil.rmtree(self._folder, ignore_errors=True)
        return removed

    def state(self) -> ColdState:
        """How much is there."""
        entries = size = 0
        for path in _files(self._folder):
            with contextlib.suppress(OSError):  # removed meanwhile
                size += path.stat().st_size
                entries += 1
        return ColdState(entries, size)

    def _put(self, entry: CacheEntry) -> None:
        there = {path: _opened(path)[0] for path in self._files_of(entry.key)}
        known = {each for head in there.values() if head for each in head.subjects}
        entry = entry._replace(subjects=tuple(sorted(known.union(entry.subjects))))
        path = self._path(entry)
        head = there.pop(path, None)
        if head is None or head.subjects != entry.subjects:
            self._write(path, self._packed(entry))
        for other in there:
            _unlink(other)

    def _write(self, path: Path, packed: bytes) -> None:
        for folder in (self._folder, path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        fresh = path.with_name(f"{UNFINISHED}{secrets.token_hex(8)}")
        try:
            with open(fresh, "xb", opener=private) as file:
                file.write(packed)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)

    def _path(self, entry: CacheEntry) -> Path:
        key, content = entry.key.hex(), sha256(entry.value).hexdigest()
        top = PERSONAL if entry.subjects else entry.kind
        return self._folder / top / key[:2] / f"{key}-{content}{END}"

    def _files_of(self, key: bytes) -> Iterator[Path]:
        name = key.hex()
        if self._folder.is_symlink():
            return
        yield from self._folder.glob(f"*/{name[:2]}/{name}-*{END}")

    def _packed(self, entry: CacheEntry) -> bytes:
        head = msgspec.msgpack.encode(
            _Head(
                entry.kind,
                entry.inputs,
                entry.version,
                entry.subjects,
                proof_of(self._secret, entry.key, entry.value),
            )
        )
        packed = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(entry.value)
        return _SKIPPED.pack(_MAGIC, len(head)) + head + packed

    def _read(self, path: Path, key: bytes) -> CacheEntry | None:
        head, packed = _opened(path)
        if head is None:
            return None
        try:
            if not 0 <= zstandard.frame_content_size(packed) <= LARGEST_BYTES:
                return None
            value = zstandard.ZstdDecompressor().decompress(packed)
        except (zstandard.ZstdError, MemoryError):
            return None
        whole = path.name == f"{key.hex()}-{sha256(value).hexdigest()}{END}"
        if not whole or not is_proven(self._secret, key, value, head.proof):
            return None
        return CacheEntry(key, head.kind, head.inputs, head.version, value, head.subjects)


def _opened(path: Path) -> tuple[_Head | None, bytes]:
    """What the file says of its artefact, and the rest of it; None if it says nothing readable."""
    try:
        with path.open("rb") as file:
            magic, length = _SKIPPED.unpack(file.read(_SKIPPED.size))
            if magic != _MAGIC or length > LARGEST_HEAD:
                return None, b""
            return msgspec.msgpack.decode(file.read(length), type=_Head), file.read()
    except (OSError, struct.error, msgspec.DecodeError):
        return None, b""


def _files(folder: Path) -> Iterator[Path]:
    """Every file of an artefact below *folder*; links are not followed."""
    if folder.is_symlink():
        return
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if name.endswith(END))


def _unlink(path: Path) -> int:
    try:
        path.unlink()
    except OSError:
        return 0
    return 1
