"""A store of blobs that keeps no secrets."""

from collections.abc import Iterator

from cortex.bus import Blobs

from .mask import Mask


class MaskedBlobs:
    """*blobs*, where secrets are masked in all that is put; the digest is that of what is kept."""

    def __init__(self, blobs: Blobs, mask: Mask) -> None:
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

    def note(self, digest: str, text: bytes) -> None:
        """As of *blobs*."""
        self._blobs.note(digest, text)

    def noted(self) -> dict[str, bytes]:
        """As of *blobs*."""
        return self._blobs.noted()

    def unnote(self, digest: str) -> None:
        """As of *blobs*."""
        self._blobs.unnote(digest)
