"""Artefacts: the port through which pure code keeps them, and what the tiers hold of each.

Code that uses the port gets and puts, and knows of no tier. A tier holds an artefact with a proof
that it is what was put.
"""

import hmac
from hashlib import blake2b, sha256
from typing import NamedTuple, Protocol

from .key import CacheKey

INPUT_BYTES = 32


class Artefacts(Protocol):
    """Whatever keeps artefacts by what they were made from."""

    def get(self, key: CacheKey) -> bytes | None:
        """The artefact under *key*; None if it has to be made."""
        ...

    def put(self, key: CacheKey, value: bytes) -> None:
        """Keep *value*, which was made from what *key* names, and from nothing else."""
        ...


class CacheEntry(NamedTuple):
    """One artefact."""

    key: bytes  # the digest of its `CacheKey`
    kind: str
    inputs: bytes  # the digests, one after another
    version: int
    value: bytes
    subjects: tuple[bytes, ...] = ()  # see `subject_digest`

    @classmethod
    def of(cls, key: CacheKey, value: bytes, subjects: tuple[str, ...]) -> "CacheEntry":
        """The entry of *value*, made from the data of *subjects*."""
        inputs = bytes.fromhex("".join(key.inputs))
        return cls(key.digest, key.kind, inputs, key.version, value, subject_digests(subjects))


def subject_digests(names: tuple[str, ...]) -> tuple[bytes, ...]:
    """What the tiers hold of the names of subjects: digests, so that no file names anybody."""
    return tuple(sorted({sha256(b"subject\0" + name.encode()).digest() for name in names}))


def proof_of(secret: bytes, key: bytes, value: bytes) -> bytes:
    """What only this user can compute for a value under a key.

    A value that is damaged, moved to another key, or was planted by somebody who may write the
    files has another proof, and is never used.
    """
    made = blake2b(key, key=secret, digest_size=INPUT_BYTES)
    made.update(value)
    return made.digest()


def is_proven(secret: bytes, key: bytes, value: bytes, proof: bytes) -> bool:
    """Whether *proof* is that of *value* under *key*."""
    return hmac.compare_digest(proof_of(secret, key, value), proof)
