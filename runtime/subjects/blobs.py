"""Blobs of subjects: encrypted on their way in, and readable on their way out."""

from collections.abc import Iterator

from cortex.bus import Blobs, whom_it_serves

from .encryption import blob_size, blob_subject, decrypted_blob, encrypted_blob
from .errors import BlobErasedError
from .keys import SubjectKeys


def stored_blobs(blobs: Blobs) -> Blobs:
    """The blobs as they are named, below *blobs*."""
    return blobs.stored if isinstance(blobs, PersonalBlobs) else blobs


class PersonalBlobs:
    """*blobs*, where those that are put for a subject are encrypted.

    A blob is named by what is stored, so that a store proves itself without keys. The thread that
    handles an event of a subject puts blobs for this subject: see `cortex.bus.serving`.
    """

    def __init__(self, blobs: Blobs, keys: SubjectKeys) -> None:
        self.stored = blobs  # as the digests say
        self._keys = keys

    def over(self, blobs: Blobs) -> "PersonalBlobs":
        """*blobs* in the same way, with the same keys."""
        return PersonalBlobs(blobs, self._keys)

    def put(self, data: bytes) -> str:
        """Keep *data* for whom this thread works; the digest of what is stored comes back."""
        whom = whom_it_serves()
        if whom is not None:
            data = encrypted_blob(data, self._keys.for_blob(whom))
        return self.stored.put(data)

    def get(self, digest: str) -> bytes:
        """The bytes that were put.

        Raises:
            BlobErasedError: The key of its subject is not here.
            BlobMissingError: There is no such blob.
            BlobCorruptError: The stored bytes have another digest.
        """
        data = self.stored.get(digest)
        whose = blob_subject(data)
        if whose is None:
            return data
        subject = self._keys.get(whose)
        found = decrypted_blob(data, subject.key) if subject is not None else None
        if found is None:
            raise BlobErasedError(digest)
        return found

    def has(self, digest: str) -> bool:
        """As of *blobs*."""
        return self.stored.has(digest)

    def size(self, digest: str) -> int:
        """Length in bytes of what `get` returns."""
        data = self.stored.get(digest)
        return len(data) if blob_subject(data) is None else blob_size(data)

    def touch(self, digest: str) -> bool:
        """As of *blobs*."""
        return self.stored.touch(digest)

    def drop(self, digest: str, idle_s: float) -> bool:
        """As of *blobs*."""
        return self.stored.drop(digest, idle_s)

    def note(self, digest: str, text: bytes) -> None:
        """As of *blobs*."""
        self.stored.note(digest, text)

    def noted(self) -> dict[str, bytes]:
        """As of *blobs*."""
        return self.stored.noted()

    def unnote(self, digest: str) -> None:
        """As of *blobs*."""
        self.stored.unnote(digest)

    def idle(self, idle_s: float) -> Iterator[tuple[str, int]]:
        """As of *blobs*."""
        return self.stored.idle(idle_s)
