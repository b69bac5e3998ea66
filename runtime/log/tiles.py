"""Leaf hashes of RFC 6962, in tiles of 256 (level 0 of C2SP tlog-tiles).

A tile is a row for every batch that added to it, in order: so every hash is written once. No row
reaches over the end of a tile.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import pairwise

LEAVES = 256  # in a tile
HASH_BYTES = 32
TILE_BYTES = LEAVES * HASH_BYTES

Run = tuple[int, bytes]  # position of the first leaf, the following hashes

LEAF = b"\x00"  # prefix of every leaf


def leaf_hash(record: bytes) -> bytes:
    """The leaf of *record* in the Merkle tree."""
    return sha256(LEAF + record).digest()  # one call: copying a prepared hash is half as fast


def runs(head: int, records: Iterable[bytes]) -> list[Run]:
    """What to store, in order, when *records* follow position *head*."""
    # `leaf_hash`, inlined, because every append uses it.
    hashes = b"".join([sha256(LEAF + record).digest() for record in records])
    if 0 < len(hashes) <= TILE_BYTES - head % LEAVES * HASH_BYTES:  # usually all fit in
        return [(head + 1, hashes)]
    cut = TILE_BYTES - head % LEAVES * HASH_BYTES  # the end of the tile
    cuts = [0, *range(cut, len(hashes), TILE_BYTES), len(hashes)]
    return [
        (head + 1 + start // HASH_BYTES, hashes[start:end])
        for start, end in pairwise(cuts)
        if start < end
    ]


def whole_tiles(position: int) -> int:
    """The last position of the last whole tile up to *position*."""
    return position // LEAVES * LEAVES


def join(after: int, stored: Sequence[Run]) -> bytes:
    """The hashes of the positions from *after* + 1 on; zeros for a missing run."""
    whole = b"".join([run for _, run in stored])
    if not stored or after + 1 + len(whole) // HASH_BYTES == (
        stored[-1][0] + len(stored[-1][1]) // HASH_BYTES
    ):
        return whole  # none is missing: the usual case
    hashes = bytearray()
    for first, run in stored:
        offset = (first - after - 1) * HASH_BYTES
        hashes.extend(bytes(max(0, offset - len(hashes))))
        hashes[offset : offset + len(run)] = run
    return bytes(hashes)
