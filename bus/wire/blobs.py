"""Blobs over a wire, in pieces: on the hub's side, and on the client's."""

import hashlib
import re
import threading
from collections.abc import Callable, Hashable, Iterable

import msgspec

from ..blobs import Blobs
from ..errors import CortexError, FrameError
from ..event import Draft
from ..port import Wake
from ..requests import Answer, Appended
from .connected_client import ConnectedClient
from .frames import PIECE_BYTES, GetBlob, Piece, PutBlob
from .unnamed import UnnamedBlobs

BLOB_BYTES = 64 << 20  # the most that one client may put at once
UNDER_WAY_BYTES = 4 * BLOB_BYTES  # that have arrived of all blobs that are being put
A_CLIENT_BYTES = 2 * BLOB_BYTES  # of them, those of one client; the owner's programs count apart
A_CLIENT_BLOBS = 16  # that it puts at once
IDLE_NS = 60_000_000_000  # without a further piece, after which a blob is dropped
KEPT_BYTES = 64 << 20  # of blobs that are being read, so that no piece costs a whole one


class Upload(msgspec.Struct):
    """A blob that comes in pieces."""

    whose: Hashable
    size_bytes: int
    idle_ns: int  # from when on it is dropped
    data: bytearray


class BlobDesk:
    """The hub's side.

    Args:
        blobs: Where they are kept; None where there is no such store.
        steady_ns: The clock that uploads which stand still are dropped by.
        alarm: Calls back at a time of that clock.
        unnamed: Counts those that no event names; None where there is no store.
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
        self._arrived: dict[Hashable, int] = {}  # bytes of them, by whose they are
        self._alarmed = False
        self._newest: tuple[str, bytes] = ("", b"")

    def answer(self, link: ConnectedClient, request: PutBlob | GetBlob) -> Answer:
        """Keep a piece, or give one.

        Raises:
            CortexError: The store cannot do it.
        """
        if self._blobs is None:
            raise FrameError("this hub keeps no blobs")
        if not re.fullmatch(r"[0-9a-f]{64}", request.digest):  # it names a file
            raise FrameError("a blob's digest is 64 hex digits in lower case")
        if isinstance(request, PutBlob):
            return self._put(self._blobs, link, request)
        return self._get(self._blobs, request)

    def under_way(self, link: ConnectedClient) -> tuple[int, int]:
        """How many blobs a client is putting, and how many bytes of them have arrived."""
        with self._lock:
            uploads = [upload for (of, _), upload in self._uploads.items() if of is link]
        return len(uploads), sum(len(upload.data) for upload in uploads)

    def named(self, client: str, drafts: Iterable[Draft]) -> None:
        """Events of a limited client were recorded."""
        if self._unnamed is not None:
            self._unnamed.named(client, drafts)

    def leave(self, link: ConnectedClient) -> None:
        """The client is gone: what it did not finish is dropped."""
        with self._lock:
            for key in [key for key in self._uploads if key[0] is link]:
                self._drop(key)

    def _put(self, blobs: Blobs, link: ConnectedClient, request: PutBlob) -> Answer:
        if not 0 <= request.size_bytes <= BLOB_BYTES:
            raise FrameError(f"a blob of {request.size_bytes} bytes is over {BLOB_BYTES}")
        with self._lock:
            upload = self._arrive(link, request)
            if len(upload.data) < upload.size_bytes:
                return Appended()
            self._drop((link, request.digest))
        data = bytes(upload.data)
        if hashlib.sha256(data).hexdigest() != request.digest:
            raise FrameError("the pieces of a blob do not give its digest")
        if blobs.put(data) != request.digest:
            raise FrameError("the blob holds what looks like a secret: mask it, then put it again")
        return Appended()

    def _arrive(self, link: ConnectedClient, request: PutBlob) -> Upload:
        """The upload with this piece at its end; one for which there is no room is dropped."""
        key = (link, request.digest)
        if not request.offset:
            self._drop(key)
            if self._unnamed is not None and link.usage is not None:
                size_bytes = max(0, request.size_bytes)
                self._unnamed.begin(link.usage.allowance, request.digest, size_bytes)
            own_count = sum(1 for each in self._uploads.values() if each.whose == link.whose)
            if own_count >= A_CLIENT_BLOBS:
                raise FrameError(f"{A_CLIENT_BLOBS} blobs are being put at once: finish some")
            self._uploads[key] = Upload(link.whose, request.size_bytes, 0, bytearray())
        upload = self._uploads.get(key)
        if upload is None or len(upload.data) != request.offset:
            raise FrameError(
                "a piece of a blob does not follow the one before, or came after more than "
                f"{IDLE_NS // 1_000_000_000} s: put the blob again from its start"
            )
        size, own = len(request.piece), self._arrived.get(link.whose, 0)
        if own + size > A_CLIENT_BYTES or sum(self._arrived.values()) + size > UNDER_WAY_BYTES:
            self._drop(key)
            raise FrameError("too much of blobs is being put at once: put this one again later")
        upload.data += request.piece
        upload.idle_ns = self._steady_ns() + IDLE_NS
        self._arrived[link.whose] = own + size
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
        """Look again when the first of the uploads has stood still for too long."""
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
            blobs.touch(request.digest)  # whoever asks may be about to name it
            return Piece(blobs.size(request.digest))
        digest, data = self._newest
        if digest != request.digest:
            data = blobs.get(request.digest)
            if len(data) <= KEPT_BYTES:
                self._newest = (request.digest, data)
        end = request.offset + min(request.limit_bytes, PIECE_BYTES)
        return Piece(len(data), data[max(0, request.offset) : end])


class BlobAwayError(CortexError, KeyError):
    """The hub has no blob of this digest."""

    def __init__(self, digest: str) -> None:
        super().__init__(digest)
        self.digest = digest

    def __str__(self) -> str:
        return f"the hub has no blob {self.digest}: it was never put, or was collected"


class RemoteBlobs:
    """The client's side: the hub's blobs, as if they were here."""

    def __init__(self, ask: Callable[[PutBlob | GetBlob], Answer]) -> None:
        self._ask = ask

    def put(self, data: bytes) -> str:
        """Keep *data*; its digest in hex comes back.

        Raises:
            CortexError: It is larger than a hub takes, or cannot be kept.
        """
        digest = hashlib.sha256(data).hexdigest()
        if self.has(digest):
            return digest
        for offset in range(0, max(1, len(data)), PIECE_BYTES):
            self._ask(PutBlob(digest, len(data), offset, data[offset : offset + PIECE_BYTES]))
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of *digest*, checked.

        Raises:
            BlobAwayError: The hub has none of that digest.
        """
        data = bytearray()
        while True:
            piece = self._piece(digest, len(data), PIECE_BYTES)
            data += piece.piece
            if len(data) >= piece.size_bytes or not piece.piece:
                break
        if hashlib.sha256(data).hexdigest() != digest:
            raise FrameError("the hub's blob does not have its digest")
        return bytes(data)

    def has(self, digest: str) -> bool:
        """Whether the hub has it."""
        answer = self._ask(GetBlob(digest, 0, 0))
        return isinstance(answer, Piece) and answer.size_bytes >= 0

    def size(self, digest: str) -> int:
        """Its length in bytes.

        Raises:
            BlobAwayError: The hub has none of that digest.
        """
        return self._piece(digest, 0, 0).size_bytes

    def _piece(self, digest: str, offset: int, limit_bytes: int) -> Piece:
        answer = self._ask(GetBlob(digest, offset, limit_bytes))
        if not isinstance(answer, Piece) or answer.size_bytes < 0:
            raise BlobAwayError(digest)
        return answer
