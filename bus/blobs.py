"""What a store of blobs is: large payloads by digest, for a hub, its clients and the runtime."""

from collections.abc import Iterator
from typing import Protocol


class Blobs(Protocol):
    """A store of bytes by their SHA-256; nothing in it ever changes."""

    def put(self, data: bytes) -> str:
        """Keep *data* and return its digest in hex; the same bytes always have the same digest."""
        ...

    def get(self, digest: str) -> bytes:
        """The bytes of *digest*, verified.

        Raises:
            CortexError: The blob is missing, or its bytes have another digest.
        """
        ...

    def has(self, digest: str) -> bool:
        """Whether a blob of *digest* is here; it is not read."""
        ...

    def size(self, digest: str) -> int:
        """Length in bytes of what `get` returns.

        Raises:
            CortexError: The blob is missing, or its length cannot be read.
        """
        ...

    def touch(self, digest: str) -> bool:
        """Note that an event is about to name a blob; return whether the store has it."""
        ...

    def drop(self, digest: str, idle_s: float) -> bool:
        """Remove a blob unless it was put or touched within *idle_s*; return whether it is gone."""
        ...

    def note(self, digest: str, text: bytes) -> None:
        """Keep *text* about a blob that no event names yet; a restart does not lose it.

        Raises:
            CortexError: The note could not be written.
        """
        ...

    def noted(self) -> dict[str, bytes]:
        """The notes, by digest."""
        ...

    def unnote(self, digest: str) -> None:
        """Remove the note about a blob, if there is one."""
        ...

    def idle(self, idle_s: float) -> Iterator[tuple[str, int]]:
        """Digest and size in bytes of each blob that was not put or touched within *idle_s*."""
        ...
