"""What a hub needs of a store of blobs."""

from typing import Protocol


class BlobKeeper(Protocol):
    """Where a hub keeps blobs."""

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
        """Note that somebody is about to name it; whether it is here."""
        ...

    def drop(self, digest: str, idle_s: float) -> bool:
        """Remove it unless it was put or touched within *idle_s*; whether it is gone."""
        ...

    def note(self, digest: str, text: bytes) -> None:
        """Keep *text* about a blob that nobody names yet; a restart does not lose it."""
        ...

    def noted(self) -> dict[str, bytes]:
        """What is noted, by digest."""
        ...

    def unnote(self, digest: str) -> None:
        """Forget what is noted of a blob, if anything is."""
        ...
