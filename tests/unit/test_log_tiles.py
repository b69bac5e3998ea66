"""Leaves go into tiles of 256 in order, however they are split over appends."""

from hashlib import sha256

from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.log import leaf_hash, tiles


def test_a_leaf_is_the_one_of_rfc_6962() -> None:
    empty = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"

    assert leaf_hash(b"").hex() == empty
    assert leaf_hash(b"record") == sha256(b"\x00record").digest()


@settings(max_examples=100, deadline=None)
@given(sizes=st.lists(st.integers(0, 600), max_size=6))
def test_any_split_gives_the_same_tiles(sizes: list[int]) -> None:
    records = [str(n).encode() for n in range(sum(sizes))]
    kept: dict[int, bytes] = {}
    head, newest = 0, b""

    for size in sizes:
        changed = tiles.extend(head, newest, records[head : head + size])
        if size:
            kept |= dict(changed)
            newest, head = tiles.open_tile(changed), head + size

    whole = b"".join(leaf_hash(record) for record in records)
    assert b"".join(kept[n] for n in sorted(kept)) == whole
    assert tiles.leaf_count(sorted(kept.items())) == head
    assert all(len(kept[n]) == tiles.TILE_BYTES for n in sorted(kept)[:-1])


@settings(max_examples=100, deadline=None)
@given(first=st.integers(1, 700), length=st.integers(1, 300))
def test_a_cut_gives_exactly_the_leaves_asked_for(first: int, length: int) -> None:
    last = first + length - 1
    leaves = [leaf_hash(str(n).encode()) for n in range(1, 1_100)]
    start, end = (
        (first - 1) // tiles.LEAVES * tiles.LEAVES,
        ((last - 1) // tiles.LEAVES + 1) * tiles.LEAVES,
    )
    held = [b"".join(leaves[n : n + tiles.LEAVES]) for n in range(start, end, tiles.LEAVES)]

    assert tiles.cut(first, last, held) == b"".join(leaves[first - 1 : last])
