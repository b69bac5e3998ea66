"""A store of blobs that keeps no secrets."""

from collections.abc import Iterator
from typing import Protocol

from .mask import Mask


class BlobKeeper(Protocol):
    """A store of blobs, as `Blobs` of the log's room says it."""

    def put(self, data: bytes) -> str:
        """Keep *data*; its digest comes back."""
        ...

    def get(self, digest: str) -> bytes:
        """The bytes of *digest*."""
        ...

    def has(self, digest: str) -> bool:
        """Whether it is here."""
        ...

    def size(self, digest: str) -> int:
        """Its length in bytes."""
        ...

    def touch(self, digest: str) -> bool:
        """Note that somebody is about to name it."""
        ...

    def drop(self, digest: str, idle_s: float) -> bool:
        """Remove it unless it was put or touched within *idle_s*."""
        ...

    def idle(self, idle_s: float) -> Iterator[tuple[str, int]]:
        """Those that were not put or touched within *idle_s*."""
        ...


class MaskedBlobs:
    """*blobs*, where secrets are masked in all that is put; the digest is that of what is kept."""

    def __init__(self, blobs: BlobKeeper, mask: Mask) -> None:
        self._blobs, self._mask = blobs, mask
        self.get, self.has, self.size = blobs.get, blobs.has, blobs.size

    def put(self, data: bytes) -> str:
        """Keep *data* without secrets; the digest of what is kept comes back."""
        return self._blobs.put(self._mask.data(data))

    def touch(self, digest: str) -> bool:
        """As of *blobs*; a hub's own keeps them, a client's need not."""
        return self._blobs.touch(digest)

    def drop(self, digest: str, idle_s: float) -> bool:
        """As of *blobs*."""
        return self._blobs.drop(digest, idle_s)

    def idle(self, idle_s: float) -> Iterator[tuple[str, int]]:
        """As of *blobs*."""
        return self._blobs.idle(idle_s)
