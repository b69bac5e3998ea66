"""What a store of blobs is: large payloads by digest, for a hub, its clients and the runtime."""

from collections.abc import Iterator
from typing import Protocol


class Blobs(Protocol):
    """A store of bytes by their SHA-256; nothing in it ever changes."""

    def put(self, data: bytes) -> str:
        """Keep *data*; its digest in hex comes back, for the same bytes always the same."""
        ...

    def get(self, digest: str) -> bytes:
        """The bytes of *digest*, checked.

        Raises:
            CortexError: It is not here, or what is here has another digest.
        """
        ...

    def has(self, digest: str) -> bool:
        """Whether a blob of *digest* is here; it is not read."""
        ...

    def size(self, digest: str) -> int:
        """Length in bytes of what `get` gives back.

        Raises:
            CortexError: It is not here, or does not say.
        """
        ...

    def touch(self, digest: str) -> bool:
        """Note that somebody is about to name a blob; whether it is here."""
        ...

    def drop(self, digest: str, idle_s: float) -> bool:
        """Remove a blob unless it was put or touched within *idle_s*; whether it is gone."""
        ...

    def note(self, digest: str, text: bytes) -> None:
        """Keep *text* about a blob that nobody names yet; a restart does not lose it.

        Raises:
            CortexError: The disk did not take it.
        """
        ...

    def noted(self) -> dict[str, bytes]:
        """What is noted, by digest."""
        ...

    def unnote(self, digest: str) -> None:
        """Forget what is noted of a blob, if anything is."""
        ...

    def idle(self, idle_s: float) -> Iterator[tuple[str, int]]:
        """Digest, and bytes that it takes, of each that was not put or touched within *idle_s*."""
        ...
