"""Transfers blobs over a wire in pieces: the hub's side."""

import hashlib
import re
import threading
from collections.abc import Callable, Hashable, Iterable

import msgspec

from ...blobs import Blobs
from ...errors import FrameError
from ...event import Draft
from ...port import Wake
from ...requests import Answer, Appended
from ...subjects import serving
from ..frames import PIECE_BYTES, GetBlob, Piece, PutBlob, StoredBlob
from .connected_client import ConnectedClient
from .unnamed import UnnamedBlobs

BLOB_BYTES = 64 << 20  # the largest blob that a client may put
UNDER_WAY_BYTES = 4 * BLOB_BYTES  # bytes received of all unfinished blobs
A_CLIENT_BYTES = 2 * BLOB_BYTES  # of one client's unfinished blobs; the owner's are counted apart
A_CLIENT_BLOBS = 16  # that one client puts at the same time
IDLE_NS = 60_000_000_000  # an unfinished blob without a new piece for this long is dropped
KEPT_BYTES = 64 << 20  # cache of blobs being read, so that a piece does not cost a whole read


class Upload(msgspec.Struct):
    """A blob that arrives in pieces."""

    whose: Hashable
    size_bytes: int
    idle_ns: int  # when it is dropped
    data: bytearray


class BlobDesk:
    """The hub's side.

    Args:
        blobs: The store; None if the hub has none.
        steady_ns: The clock by which stalled uploads are dropped.
        alarm: Schedules a call at a time of that clock.
        unnamed: Counts blobs that no event names; None if there is no store.
    """

    def __init__(
        self,
        blobs: Blobs | None,
        steady_ns: Callable[[], int],
        alarm: Callable[[int, Wake], None],
        unnamed: UnnamedBlobs | None = None,
    ) -> None:
        self._blobs, self._unnamed = blobs, unnamed
        self._steady_ns, self._alarm = steady_ns, alarm
        self._lock = threading.Lock()
        self._uploads: dict[tuple[ConnectedClient, str], Upload] = {}  # by digest
        self._arrived: dict[Hashable, int] = {}  # bytes received, by owner
        self._alarmed = False
        self._newest: tuple[str, bytes, bool] = ("", b"", False)  # digest, bytes, decrypted

    def answer(self, program: ConnectedClient, request: PutBlob | GetBlob) -> Answer:
        """Store a piece, or return one.

        Raises:
            CortexError: The store failed.
        """
        if self._blobs is None:
            raise FrameError("this hub keeps no blobs")
        if not re.fullmatch(r"[0-9a-f]{64}", request.digest):  # it names a file
            raise FrameError("a blob's digest is 64 hex digits in lower case")
        if isinstance(request, PutBlob):
            return self._put(self._blobs, program, request)
        return self._get(self._blobs, request)

    def under_way(self, program: ConnectedClient) -> tuple[int, int]:
        """How many blobs a client is putting, and how many bytes of them the hub has."""
        with self._lock:
            uploads = [upload for (of, _), upload in self._uploads.items() if of is program]
        return len(uploads), sum(len(upload.data) for upload in uploads)

    def named(self, client: str, drafts: Iterable[Draft]) -> None:
        """Events of a limited client were recorded."""
        if self._unnamed is not None:
            self._unnamed.named(client, drafts)

    def leave(self, program: ConnectedClient) -> None:
        """The client is gone: drop its unfinished blobs."""
        with self._lock:
            for key in [key for key in self._uploads if key[0] is program]:
                self._drop(key)

    def _put(self, blobs: Blobs, program: ConnectedClient, request: PutBlob) -> Answer:
        if not 0 <= request.size_bytes <= BLOB_BYTES:
            raise FrameError(f"a blob of {request.size_bytes} bytes is over {BLOB_BYTES}")
        with self._lock:
            upload = self._arrive(program, request)
            if len(upload.data) < upload.size_bytes:
                return Appended()
            self._drop((program, request.digest))
        data = bytes(upload.data)
        if hashlib.sha256(data).hexdigest() != request.digest:
            raise FrameError("the pieces of a blob do not have its digest")
        if request.subject:
            with serving(request.subject):
                digest = blobs.put(data)
            if self._unnamed is not None and program.usage is not None:
                self._unnamed.became(program.usage.allowance.client, request.digest, digest)
            return StoredBlob(digest)
        if blobs.put(data) != request.digest:
            raise FrameError("the blob holds what looks like a secret: mask it, then put it again")
        return Appended()

    def _arrive(self, program: ConnectedClient, request: PutBlob) -> Upload:
        """The upload with this piece added; an upload for which there is no room is dropped."""
        key = (program, request.digest)
        if not request.offset:
            self._drop(key)
            if self._unnamed is not None and program.usage is not None:
                size_bytes = max(0, request.size_bytes)
                self._unnamed.begin(program.usage.allowance, request.digest, size_bytes)
            own_count = sum(1 for each in self._uploads.values() if each.whose == program.whose)
            if own_count >= A_CLIENT_BLOBS:
                raise FrameError(f"{A_CLIENT_BLOBS} blobs are being put at once: finish some")
            self._uploads[key] = Upload(program.whose, request.size_bytes, 0, bytearray())
        upload = self._uploads.get(key)
        if upload is None or len(upload.data) != request.offset:
            raise FrameError(
                "a piece of a blob does not follow the one before, or came after more than "
                f"{IDLE_NS // 1_000_000_000} s: put the blob again from its start"
            )
        size, own = len(request.piece), self._arrived.get(program.whose, 0)
        if own + size > A_CLIENT_BYTES or sum(self._arrived.values()) + size > UNDER_WAY_BYTES:
            self._drop(key)
            raise FrameError("too many blobs are being put at once: put this one again later")
        upload.data += request.piece
        upload.idle_ns = self._steady_ns() + IDLE_NS
        self._arrived[program.whose] = own + size
        self._set_alarm()
        return upload

    def _drop(self, key: tuple[ConnectedClient, str]) -> None:
        upload = self._uploads.pop(key, None)
        if upload is not None:
            left = self._arrived.get(upload.whose, 0) - len(upload.data)
            self._arrived[upload.whose] = left
            if not left:
                del self._arrived[upload.whose]

    def _set_alarm(self) -> None:
        """Set the alarm for the time when the oldest upload has stalled for too long."""
        if self._uploads and not self._alarmed:
            self._alarmed = True
            first_ns = min(upload.idle_ns for upload in self._uploads.values())
            self._alarm(first_ns, self._drop_idle)

    def _drop_idle(self) -> None:
        with self._lock:
            self._alarmed = False
            now_ns = self._steady_ns()
            for key in [key for key, each in self._uploads.items() if each.idle_ns <= now_ns]:
                self._drop(key)
            self._set_alarm()

    def _get(self, blobs: Blobs, request: GetBlob) -> Answer:
        if not blobs.has(request.digest):
            return Piece(-1)
        if not request.limit_bytes:
            blobs.touch(request.digest)  # the client may be about to name it in an event
            return Piece(blobs.size(request.digest))
        digest, data, decrypted = self._newest
        if digest != request.digest:
            data = blobs.get(request.digest)
            decrypted = hashlib.sha256(data).hexdigest() != request.digest
            if len(data) <= KEPT_BYTES:
                self._newest = (request.digest, data, decrypted)
        end = request.offset + min(request.limit_bytes, PIECE_BYTES)
        return Piece(len(data), data[max(0, request.offset) : end], decrypted)
