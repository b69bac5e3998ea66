"""Finds the blobs that an event, a deadline's event or another named blob names."""

import re
from collections.abc import Iterable
from typing import Protocol

from .errors import CortexError
from .log import Log

PAGE, PAGE_BYTES = 1_024, 4 << 20
LOOKED_INTO_BYTES = 16 << 20  # of one blob: a larger one is data, and its bytes are not searched

_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


class Readable(Protocol):
    """A store of blobs, as far as this module uses it."""

    def get(self, digest: str) -> bytes:
        """The bytes of *digest*."""
        ...

    def has(self, digest: str) -> bool:
        """Whether the store has the blob."""
        ...

    def size(self, digest: str) -> int:
        """Its length in bytes."""
        ...


def names_in(data: bytes | bytearray | memoryview) -> set[str]:
    """Every part of *data* that may be a blob's digest in hex."""
    return {found.decode() for found in _DIGEST.findall(data)}


def named_after(log: Log, position: int, blobs: Readable) -> set[str]:
    """Digests named by events after *position*, by deadlines, and by the blobs that these name."""
    named: set[str] = set()
    for deadline in log.state().deadlines:
        named |= names_in(deadline.draft)
    after = position
    while page := log.read(after, PAGE, PAGE_BYTES):
        for record in page:
            named |= names_in(record)
        after += len(page)
    return with_those_within(named, blobs)


def with_those_within(named: Iterable[str], blobs: Readable) -> set[str]:
    """*named*, and what the blobs among them name, recursively."""
    found: set[str] = set()
    left = set(named)
    while left:
        digest = left.pop()
        found.add(digest)
        try:
            if blobs.has(digest) and blobs.size(digest) <= LOOKED_INTO_BYTES:
                left |= names_in(blobs.get(digest)) - found
        except CortexError:
            continue  # no names can be read from a damaged blob
    return found
