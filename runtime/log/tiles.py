"""Leaf hashes as RFC 6962 has them, kept 256 to a tile (level 0 of C2SP tlog-tiles)."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

LEAVES = 256  # to a tile
HASH_BYTES = 32
TILE_BYTES = LEAVES * HASH_BYTES


def leaf_hash(record: bytes) -> bytes:
    """The leaf of *record* in the Merkle tree."""
    return sha256(b"\x00" + record).digest()


def extend(head: int, newest: bytes, records: Iterable[bytes]) -> list[tuple[int, bytes]]:
    """The tiles that change when *records* follow position *head*.

    Args:
        head: Position of the newest leaf; 0 for an empty tree.
        newest: The hashes of the tile that the next leaf goes to, empty for a new one.
        records: What is appended.

    Returns:
        (tile, its hashes) in order; the last one is where the following leaf goes, or full.
    """
    hashes = newest + b"".join([sha256(b"\x00" + record).digest() for record in records])
    first = head // LEAVES
    return [
        (first + start // TILE_BYTES, hashes[start : start + TILE_BYTES])
        for start in range(0, len(hashes), TILE_BYTES)
    ]


def open_tile(tiles: Sequence[tuple[int, bytes]]) -> bytes:
    """The hashes of the tile that the next leaf goes to, after *tiles* were written."""
    hashes = tiles[-1][1] if tiles else b""
    return b"" if len(hashes) == TILE_BYTES else hashes


def leaf_count(tiles: Sequence[tuple[int, bytes]]) -> int:
    """How many leaves a tree has whose newest tiles are *tiles*."""
    return tiles[-1][0] * LEAVES + len(tiles[-1][1]) // HASH_BYTES if tiles else 0


def cut(first: int, last: int, tiles: Sequence[bytes]) -> bytes:
    """The leaves of positions *first* to *last* out of the *tiles* that hold them, in order."""
    start = (first - 1) % LEAVES * HASH_BYTES
    return b"".join(tiles)[start : start + (last - first + 1) * HASH_BYTES]
