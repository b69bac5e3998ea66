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
@given(sizes=st.lists(st.integers(0, 300) | st.integers(0, 5), max_size=12))
def test_any_split_gives_the_same_leaves_and_no_run_reaches_over_a_tile(sizes: list[int]) -> None:
    records = [str(n).encode() for n in range(sum(sizes))]
    stored: list[tiles.Run] = []
    head = 0

    for size in sizes:
        stored += tiles.runs(head, records[head : head + size])
        head += size

    leaves = b"".join(leaf_hash(record) for record in records)
    assert tiles.join(0, stored) == b"".join(run for _, run in stored) == leaves
    for first, run in stored:
        last = first + len(run) // tiles.HASH_BYTES - 1
        assert first <= last
        assert tiles.whole_tiles(first - 1) == tiles.whole_tiles(last - 1)


def test_a_missing_run_leaves_zeros_in_its_place() -> None:
    a, c = leaf_hash(b"a"), leaf_hash(b"c")

    assert tiles.join(0, [(1, a), (3, c)]) == a + bytes(32) + c
    assert tiles.join(256, [(258, c)]) == bytes(32) + c
    assert tiles.join(0, []) == b""
