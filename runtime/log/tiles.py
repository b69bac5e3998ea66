"""Leaf hashes as RFC 6962 has them, kept 256 to a tile (level 0 of C2SP tlog-tiles).

A full tile is one row and never changes. The newest tile is a row for every batch until it is full,
when those rows become one: rewriting a growing tile would double what a small batch writes.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

LEAVES = 256  # to a tile
HASH_BYTES = 32
TILE_BYTES = LEAVES * HASH_BYTES

Run = tuple[int, bytes]  # position of the first leaf, the hashes from there on


def leaf_hash(record: bytes) -> bytes:
    """The leaf of *record* in the Merkle tree."""
    return sha256(b"\x00" + record).digest()


def extend(head: int, newest: bytes, records: Iterable[bytes]) -> list[Run]:
    """The runs to store when *records* follow position *head*.

    Args:
        head: Position of the newest leaf; 0 for an empty tree.
        newest: All hashes of the tile that the next leaf goes to; empty for a new one.
        records: What is appended.

    Returns:
        Runs in order. Those of the newest tile that are stored already are to be removed where the
        first one starts at or before *head*: it is that tile, now full.
    """
    hashes = b"".join([sha256(b"\x00" + record).digest() for record in records])
    if not hashes:
        return []
    if len(newest) + len(hashes) < TILE_BYTES:
        return [(head + 1, hashes)]
    hashes = newest + hashes
    start = tile_start(head)
    return [
        (start + 1 + at // HASH_BYTES, hashes[at : at + TILE_BYTES])
        for at in range(0, len(hashes), TILE_BYTES)
    ]


def open_tile(newest: bytes, stored: Sequence[Run]) -> bytes:
    """What `extend` needs as *newest* after the runs that it gave were stored."""
    if not stored:
        return newest
    first, hashes = stored[-1]
    whole = hashes if tile_start(first - 1) == first - 1 else newest + hashes
    return b"" if len(whole) == TILE_BYTES else whole


def tile_start(position: int) -> int:
    """The position before the first of the tile that the leaf after *position* goes to."""
    return position // LEAVES * LEAVES


def join(after: int, runs: Iterable[Run]) -> bytes:
    """The hashes of the positions from *after* + 1 on; a run that is missing leaves zeros."""
    hashes = bytearray()
    for first, run in runs:
        offset = (first - after - 1) * HASH_BYTES
        hashes.extend(bytes(max(0, offset - len(hashes))))
        hashes[offset : offset + len(run)] = run
    return bytes(hashes)
