"""Transfers blobs over a wire in pieces: the client's side."""

import hashlib
from collections.abc import Callable

from ...errors import CortexError, FrameError, with_fields
from ...requests import Answer
from ...subjects import whom_it_serves
from ..frames import PIECE_BYTES, GetBlob, Piece, PutBlob, StoredBlob


@with_fields
class BlobAwayError(CortexError, KeyError):
    """The hub has no blob of this digest."""

    digest: str

    says = "the hub has no blob {digest}: it was never put, or was collected"


class RemoteBlobs:
    """The client's side: the hub's blobs, with the interface of a local store."""

    def __init__(self, ask: Callable[[PutBlob | GetBlob], Answer]) -> None:
        self._ask = ask

    def put(self, data: bytes) -> str:
        """Keep *data* and return its digest in hex.

        Raises:
            CortexError: It is larger than the hub accepts, or cannot be stored.
        """
        digest, whom = hashlib.sha256(data).hexdigest(), whom_it_serves() or ""
        if not whom and self.has(digest):
            return digest
        for offset in range(0, max(1, len(data)), PIECE_BYTES):
            piece = data[offset : offset + PIECE_BYTES]
            answer = self._ask(PutBlob(digest, len(data), offset, piece, whom))
            if isinstance(answer, StoredBlob):
                return answer.digest
        if whom:
            raise FrameError("the hub does not encrypt blobs for a subject: upgrade it")
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of *digest*, verified.

        Raises:
            BlobAwayError: The hub has no blob of that digest.
        """
        data, decrypted = bytearray(), False
        while True:
            piece = self._piece(digest, len(data), PIECE_BYTES)
            data += piece.piece
            decrypted |= piece.decrypted
            if len(data) >= piece.size_bytes or not piece.piece:
                break
        if not decrypted and hashlib.sha256(data).hexdigest() != digest:
            raise FrameError("the hub's blob does not have its digest")
        return bytes(data)

    def has(self, digest: str) -> bool:
        """Whether the hub has the blob."""
        answer = self._ask(GetBlob(digest, 0, 0))
        return isinstance(answer, Piece) and answer.size_bytes >= 0

    def size(self, digest: str) -> int:
        """The length of the blob in bytes.

        Raises:
            BlobAwayError: The hub has no blob of that digest.
        """
        return self._piece(digest, 0, 0).size_bytes

    def _piece(self, digest: str, offset: int, limit_bytes: int) -> Piece:
        answer = self._ask(GetBlob(digest, offset, limit_bytes))
        if not isinstance(answer, Piece) or answer.size_bytes < 0:
            raise BlobAwayError(digest)
        return answer
