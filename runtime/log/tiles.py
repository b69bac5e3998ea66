"""Leaf hashes as RFC 6962 has them, in tiles of 256 (level 0 of C2SP tlog-tiles).

A tile is a row for every batch that added to it, in order: so every hash is written once. No row
reaches over the end of a tile.
"""

from collections.abc import Iterable
from hashlib import sha256
from itertools import pairwise

LEAVES = 256  # to a tile
HASH_BYTES = 32
TILE_BYTES = LEAVES * HASH_BYTES

Run = tuple[int, bytes]  # position of the first leaf, the hashes from there on

_START = sha256(b"\x00")  # what every leaf starts with: cheaper copied than made again


def leaf_hash(record: bytes) -> bytes:
    """The leaf of *record* in the Merkle tree."""
    leaf = _START.copy()
    leaf.update(record)
    return leaf.digest()


def runs(head: int, records: Iterable[bytes]) -> list[Run]:
    """What to store, in order, when *records* follow position *head*."""
    leaves, fresh = [], _START.copy
    for record in records:  # `leaf_hash`, in line: every append pays for it
        leaf = fresh()
        leaf.update(record)
        leaves.append(leaf.digest())
    hashes = b"".join(leaves)
    if 0 < len(hashes) <= TILE_BYTES - head % LEAVES * HASH_BYTES:  # mostly all fit in
        return [(head + 1, hashes)]
    cut = TILE_BYTES - head % LEAVES * HASH_BYTES  # where the tile is full
    cuts = [0, *range(cut, len(hashes), TILE_BYTES), len(hashes)]
    return [
        (head + 1 + start // HASH_BYTES, hashes[start:end])
        for start, end in pairwise(cuts)
        if start < end
    ]


def tile_start(position: int) -> int:
    """The position before the first of the tile that the leaf after *position* goes to."""
    return position // LEAVES * LEAVES


def join(after: int, stored: Iterable[Run]) -> bytes:
    """The hashes of the positions from *after* + 1 on; a run that is missing leaves zeros."""
    hashes = bytearray()
    for first, run in stored:
        offset = (first - after - 1) * HASH_BYTES
        hashes.extend(bytes(max(0, offset - len(hashes))))
        hashes[offset : offset + len(run)] = run
    return bytes(hashes)
