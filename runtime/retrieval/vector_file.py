"""The files that store vectors: rewritten from time to time, appended to in between.

`.faiss`, `.ids` and `.json` are whole; `.added` has what came since, each part with the id before
it, so that one that is cut off, or another process's, is noticed and made again.
"""

import contextlib
import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import faiss
import numpy as np

from .embedders.embedder import Vectors
from .errors import StoreDiskError
from .postings import Ids

ADDED_MOST: Final = 8_192  # vectors; with more, all are written whole
# Id before the first, vectors, numbers in each, checksums: of whose they are, of what follows.
_HEADER: Final = struct.Struct("<qqqII")


class Loaded(NamedTuple):
    """What the files held."""

    index: Any  # of faiss; None if there is none
    ids: Ids
    rebuilt: str = ""  # why what was there was thrown away; "" where it was not


class VectorFile:
    """Keeps one embedder's vectors of one store at *path*, which ends in `.faiss`."""

    def __init__(self, path: Path, embedder: str, identity: int) -> None:
        self._path, self._embedder, self._identity = path, embedder, identity
        self._checksum = zlib.crc32(f"{embedder} {identity}".encode())
        self._whole = True  # the next write is a full one
        self._waiting: list[tuple[int, Ids, Vectors]] = []
        self._added = 0  # vectors in `.added` and waiting for it
        self._read_bytes = 0  # of `.added`

    @property
    def is_behind(self) -> bool:
        """Whether `keep` has anything to write."""
        return self._whole or bool(self._waiting)

    def load(self) -> Loaded:
        """What was kept; nothing where it is damaged or another embedder's."""
        nothing = Loaded(None, np.zeros(0, np.int64))
        with contextlib.suppress(OSError, ValueError, KeyError, RuntimeError, TypeError):
            told = json.loads(self._path.with_suffix(".json").read_text(encoding="utf-8"))
            if told["embedder"] != self._embedder:
                why = f"vectors were {told['embedder']}'s, not {self._embedder}'s"
                return nothing._replace(rebuilt=why)
            if told["store"] != self._identity:  # whose chunks have other ids
                return nothing._replace(rebuilt="vectors were another store's")
            index = faiss.read_index(str(self._path))
            ids = np.frombuffer(self._path.with_suffix(".ids").read_bytes(), "<i8")
            if index.ntotal == len(ids) == told["vectors"]:
                self._whole = False
                return Loaded(index, self.catch_up(index, ids.astype(np.int64)))
        damaged = "the file of vectors was damaged" if self._path.exists() else ""
        return nothing._replace(rebuilt=damaged)

    def catch_up(self, index: Any, ids: Ids) -> Ids:
        """Have *index*, which holds *ids*, take up what was added since; all ids come back."""
        data, at = self._unread(), 0
        while at + _HEADER.size <= len(data):
            before, count, size, whose, checksum = _HEADER.unpack_from(data, at)
            body = data[at + _HEADER.size : at + _HEADER.size + count * (8 + 4 * size)]
            if zlib.crc32(body) != checksum:
                break
            at += _HEADER.size + len(body)
            last = int(ids[-1]) if len(ids) else 0
            if before == last and whose == self._checksum and size == index.d:
                index.add(np.frombuffer(body, "<f4", offset=8 * count).reshape(count, size))
                ids = np.concatenate([ids, np.frombuffer(body, "<i8", count)])
                self._added += count
        self._read_bytes += at
        if at < len(data):  # what is added behind it would not be read
            self.renew()
        return ids

    def add(self, before: int, ids: Ids, vectors: Vectors) -> None:
        """Take up *vectors* of *ids*, which follow the id *before*; `keep` writes them."""
        self._added += len(ids)
        if self._added > ADDED_MOST:
            self.renew()
        if not self._whole:
            self._waiting.append((before, ids, vectors))

    def renew(self) -> None:
        """Have the next `keep` write all of it."""
        self._whole = True
        self._waiting.clear()

    def keep(self, index: Any, ids: Ids) -> None:
        """Write what was added, or all of *index*.

        Raises:
            StoreDiskError: The disk did not take it.
        """
        try:
            if self._whole:
                self._write(index, ids)
            elif self._waiting:
                parts = b"".join(self._part(*waiting) for waiting in self._waiting)
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
                added = os.open(self._path.with_suffix(".added"), flags, 0o600)
                with open(added, "wb") as file:  # noqa: PTH123  # opens a descriptor
                    file.write(parts)
        except (OSError, RuntimeError) as error:
            self.renew()
            problem = getattr(error, "strerror", None) or "its vectors could not be written to disk"
            raise StoreDiskError(str(self._path), problem) from error
        self._waiting.clear()

    def _write(self, index: Any, ids: Ids) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        told = {"embedder": self._embedder, "store": self._identity, "vectors": len(ids)}
        with self._replaced(".ids") as passing:
            passing.write_bytes(ids.astype("<i8").tobytes())
        with self._replaced(self._path.suffix) as passing:
            faiss.write_index(index, str(passing))
        self._path.with_suffix(".added").unlink(missing_ok=True)
        # Last: it says how many there are, so that a kill in between is noticed.
        with self._replaced(".json") as passing:
            passing.write_text(json.dumps(told), encoding="utf-8")
        self._whole, self._added, self._read_bytes = False, 0, 0

    @contextlib.contextmanager
    def _replaced(self, suffix: str) -> Iterator[Path]:
        passing = self._path.with_suffix(f"{suffix}.{os.getpid()}")
        try:
            yield passing
            passing.chmod(0o600)
            passing.replace(self._path.with_suffix(suffix))
        except BaseException:
            passing.unlink(missing_ok=True)
            raise

    def _unread(self) -> bytes:
        try:
            with self._path.with_suffix(".added").open("rb") as file:
                if os.fstat(file.fileno()).st_size < self._read_bytes:  # another one by now
                    self._read_bytes = 0
                file.seek(self._read_bytes)
                return file.read()
        except FileNotFoundError:
            self._read_bytes = 0
            return b""

    def _part(self, before: int, ids: Ids, vectors: Vectors) -> bytes:
        body = ids.astype("<i8").tobytes() + vectors.astype("<f4").tobytes()
        size = vectors.shape[1]
        return _HEADER.pack(before, len(ids), size, self._checksum, zlib.crc32(body)) + body
