"""The Merkle tree of RFC 6962: roots and proofs, against the definition and published vectors."""

from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.log import LogTree, is_consistent, root_of_inclusion

merkle: Any = import_module("cortex.runtime.log.merkle")
# Leaves and roots that the reference implementation of Certificate Transparency tests with.
INPUTS = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def leaf(data: bytes) -> bytes:
    return sha256(b"\0" + data).digest()


def defined(leaves: list[bytes]) -> bytes:
    """The root by the words of the RFC."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    left = 1
    while 2 * left < len(leaves):
        left *= 2
    return sha256(b"\1" + defined(leaves[:left]) + defined(leaves[left:])).digest()


class Log:
    """Leaf hashes, as a log gives them; counts how many were read."""

    def __init__(self, count: int) -> None:
        self.leaves = [leaf(str(n).encode()) for n in range(count)]
        self.read = 0

    def leaf_hashes(self, first: int, last: int) -> bytes:
        self.read += last - first + 1
        return b"".join(self.leaves[first - 1 : last])


def test_roots_are_those_of_the_reference_implementation() -> None:
    leaves = [leaf(bytes.fromhex(each)) for each in INPUTS]

    for size in range(1, len(leaves) + 1):
        found = merkle.root(size, lambda start, end: defined(leaves[start:end]))
        assert found.hex() == ROOTS[size - 1]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 1_400), st.data())
def test_a_proof_holds_for_its_event_and_for_nothing_else(size: int, data: st.DataObject) -> None:
    log = Log(size)
    position = data.draw(st.integers(1, size))
    with LogTree(log, size) as tree:
        root, path = tree.root(), tree.inclusion(position)

    assert root == defined(log.leaves)
    own = log.leaves[position - 1]
    assert root_of_inclusion(own, position - 1, size, path) == root
    assert root_of_inclusion(leaf(b"other"), position - 1, size, path) != root
    if size > 1:
        other = data.draw(st.integers(0, size - 1).filter(lambda n: n != position - 1))
        assert root_of_inclusion(own, other, size, path) != root
    assert root_of_inclusion(own, position - 1, size, [*path, root]) is None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 1_400), st.data())
def test_a_log_that_only_grew_is_consistent_and_another_one_is_not(
    size: int, data: st.DataObject
) -> None:
    log = Log(size)
    old = data.draw(st.integers(1, size))
    with LogTree(log, size) as tree:
        root, before, path = tree.root(), tree.root_at(old), tree.consistency(old)

    assert before == defined(log.leaves[:old])
    assert is_consistent(old, size, before, root, path)
    assert not is_consistent(old, size, leaf(b"other"), root, path)
    assert not is_consistent(old, size, before, leaf(b"other"), path)
    if path:
        assert not is_consistent(old, size, before, root, path[:-1])


def test_a_later_head_reads_no_leaf_of_a_whole_tile_twice(tmp_path: Path) -> None:
    log, path = Log(70_000), tmp_path / "tree.db"
    with LogTree(log, 66_000, path) as tree:
        tree.root()
    log.read = 0

    with LogTree(log, 70_000, path) as tree:
        found = tree.root()

    assert found == defined(log.leaves)
    assert log.read < 70_000 - 66_000 + 3 * 256


@pytest.mark.parametrize(("old", "new"), [(0, 5), (6, 5)])
def test_what_cannot_be_proved_is_refused(old: int, new: int) -> None:
    with LogTree(Log(new), new) as tree, pytest.raises(ValueError, match="no proof"):
        tree.consistency(old)
    with LogTree(Log(new), new) as tree, pytest.raises(ValueError, match="has none"):
        tree.inclusion(new + 1)
