"""Logs and witnesses for tests: what a log would post, honest or not."""

import base64
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from cortex.runtime.audit import (
    ConsistencyProof,
    SignedHead,
    SigningKey,
    TreeHead,
    Witness,
)
from cortex.runtime.kernel import Home
from cortex.runtime.log import LogTree

EMPTY = sha256(b"").digest()


class Leaves:
    """Leaf hashes of a log that has only these."""

    def __init__(self, hashes: Sequence[bytes]) -> None:
        self._hashes = hashes

    def leaf_hashes(self, first: int, last: int) -> bytes:
        return b"".join(self._hashes[first - 1 : last])


class OtherLog:
    """A log of any program, with a key; *history* names its events."""

    def __init__(self, origin: str = "example.com/log", history: str = "a") -> None:
        self.origin, self.history = origin, history
        self.key = SigningKey.new("example.com/log", "ed25519")
        self.forked_at = 0

    def fork(self, at: int) -> "OtherLog":
        """The same log with another history after *at* events."""
        other = OtherLog(self.origin, "b")
        other.key, other.forked_at = self.key, at
        return other

    def _tree(self, size: int) -> LogTree:
        names = ["a" if n < self.forked_at else self.history for n in range(size)]
        hashes = [sha256(f"{name} {n}".encode()).digest() for n, name in enumerate(names)]
        return LogTree(Leaves(hashes), size)

    def head(self, size: int) -> SignedHead:
        root = self._tree(size).root() if size else EMPTY
        return self.signed(TreeHead(self.origin, size, root))

    def signed(self, head: TreeHead) -> SignedHead:
        return SignedHead.parse(head.text() + "\n" + self.key.sign(head))

    def request(self, old: int, size: int) -> bytes:
        """What is posted for a log that grew from *old* to *size*."""
        path = tuple(self._tree(size).consistency(old)) if 0 < old <= size else ()
        return ConsistencyProof(old, path, self.head(size)).text().encode()


def witness_in(folder: Path, *logs: OtherLog) -> Witness:
    """A witness with a home in *folder* that accepts *logs*."""
    witness = Witness(Home.create(folder))
    witness.make("example.com/witness")
    for log in logs:
        witness.accept(log.origin, [log.key.verifier()])
    return witness


def damaged(body: bytes) -> bytes:
    """*body* with another hash as the first line of its proof."""
    first, path, *rest = body.split(b"\n")
    assert path
    return b"\n".join([first, base64.b64encode(bytes(32)), *rest])
