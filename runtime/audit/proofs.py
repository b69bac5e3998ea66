"""Proofs about a log, checked without it: it contains an event (C2SP tlog-proof), or only grew."""

import base64
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from cortex.runtime.log import is_consistent, root_of_inclusion

from .notes import AuditError, SignedHead, VerifierKey, hash_of

FIRST: Final = "c2sp.org/tlog-proof@v1"
MOST: Final = 63  # hashes; a log of 2 ** 63 events has no more levels
_INDEX = re.compile(r"index (0|[1-9]\d{0,18})")
_OLD = re.compile(r"old (0|[1-9]\d{0,18})")


class InclusionProof(msgspec.Struct, frozen=True):
    """One event is in a log."""

    index: int  # of the event, from 0
    path: tuple[bytes, ...]  # from its sibling up to the root's child
    head: SignedHead

    def text(self) -> str:
        """The proof as its file has it."""
        lines = [FIRST, f"index {self.index}", *map(_base64, self.path), "", self.head.text()]
        return "\n".join(lines)

    @classmethod
    def parse(cls, text: str) -> "InclusionProof":
        """The proof in the form of `text`.

        Raises:
            AuditError: It is not a valid proof.
        """
        head, apart, note = text.partition("\n\n")
        lines = head.split("\n")
        if lines[0] != FIRST or not apart:
            raise AuditError(f"it is no proof: its first line is not {FIRST!r}")
        lines = [line for line in lines[1:] if not line.startswith("extra ")]
        index = _INDEX.fullmatch(lines[0]) if lines else None
        if index is None:
            raise AuditError("it is no proof: it has no line with the index of its event")
        return cls(int(index[1]), _path(lines[1:]), SignedHead.parse(note))

    def check(self, leaf: bytes, keys: Sequence[VerifierKey]) -> list[VerifierKey]:
        """Who signed the head under which the event with this *leaf* hash is.

        Raises:
            AuditError: The event is not under it, or none of *keys* signed it.
        """
        signers = signers_of(self.head, keys)
        size, root = self.head.tree_head.size, self.head.tree_head.root
        if root_of_inclusion(leaf, self.index, size, self.path) != root:
            raise AuditError(f"the event is not number {self.index + 1:,} under this head")
        return signers


class ConsistencyProof(msgspec.Struct, frozen=True):
    """What a log was at one head is the beginning of what it is at a later one."""

    old: int  # events at the earlier head
    path: tuple[bytes, ...]
    head: SignedHead  # the later one

    def text(self) -> str:
        """As a witness takes it (C2SP tlog-witness, `add-checkpoint`)."""
        return "\n".join([f"old {self.old}", *map(_base64, self.path), "", self.head.text()])

    @classmethod
    def parse(cls, text: str) -> "ConsistencyProof":
        """The proof in the form of `text`.

        Raises:
            AuditError: It is not a valid proof.
        """
        head, apart, note = text.partition("\n\n")
        first, *lines = head.split("\n")
        old = _OLD.fullmatch(first)
        if old is None or not apart:
            raise AuditError("it is no proof of consistency: its first line is not `old SIZE`")
        return cls(int(old[1]), _path(lines), SignedHead.parse(note))

    def check(self, old: SignedHead, keys: Sequence[VerifierKey]) -> None:
        """Check that the log of this head begins with that of *old*.

        Raises:
            AuditError: It does not, or one of the heads is not signed by one of *keys*.
        """
        signers_of(self.head, keys)
        signers_of(old, keys)
        before, after = old.tree_head, self.head.tree_head
        if before.origin != after.origin:
            raise AuditError(f"the heads are of two logs: {before.origin} and {after.origin}")
        sizes = before.size, after.size
        if before.size and not is_consistent(*sizes, before.root, after.root, self.path):
            raise AuditError(
                f"the log of {after.size:,} events does not begin with that of {before.size:,}: "
                "its history was changed"
            )


def signers_of(head: SignedHead, keys: Sequence[VerifierKey]) -> list[VerifierKey]:
    """Those of *keys* that signed *head*.

    Raises:
        AuditError: None of them did, or a signature does not hold.
    """
    signers = head.signers([*keys])
    if not signers:
        names = ", ".join(each.name for each in head.signatures)
        raise AuditError(
            f"none of the keys that you gave signed this head; it is signed by {names}"
        )
    return signers


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _path(lines: Sequence[str]) -> tuple[bytes, ...]:
    if len(lines) > MOST:
        raise AuditError(f"a proof has at most {MOST} hashes, this one has {len(lines)}")
    return tuple(map(hash_of, lines))
