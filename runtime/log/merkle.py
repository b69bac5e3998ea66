"""The Merkle tree of RFC 6962 over leaf hashes: roots, and proofs of inclusion and consistency.

All of it is pure. The caller passes `subtree(start, end)`, which gives the root of the leaves from
*start* up to *end*, counted from 0, *end* excluded.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

Subtree = Callable[[int, int], bytes]

EMPTY = sha256(b"").digest()  # the root of no leaves
_NODE = b"\x01"  # prefix of every inner node


def node(left: bytes, right: bytes) -> bytes:
    """The hash over two subtrees."""
    return sha256(_NODE + left + right).digest()


def fold(hashes: Sequence[bytes]) -> bytes:
    """The root over *hashes*, whose number is a power of two."""
    level = list(hashes)
    while len(level) > 1:
        level = [node(*level[at : at + 2]) for at in range(0, len(level), 2)]
    return level[0]


def split(size: int) -> int:
    """How many of *size* leaves, which are two or more, are in the left part of their tree."""
    return 1 << (size - 1).bit_length() - 1


def root(size: int, subtree: Subtree) -> bytes:
    """The root over the first *size* leaves."""
    return _over(0, size, subtree) if size else EMPTY


def _over(start: int, end: int, subtree: Subtree) -> bytes:
    """The root over any range that a proof may need: whole subtrees, joined from the right."""
    parts: list[bytes] = []
    while start < end:
        whole = 1 << (end - start).bit_length() - 1
        parts.append(subtree(start, start + whole))
        start += whole
    found = parts.pop()
    while parts:
        found = node(parts.pop(), found)
    return found


def inclusion(index: int, size: int, subtree: Subtree) -> list[bytes]:
    """The proof path from leaf *index* (from 0) to the root over *size* leaves, leaf first.

    Raises:
        ValueError: There is no such leaf.
    """
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} leaves has none of index {index}")
    path: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + split(end - start)
        if index < middle:
            path.append(_over(middle, end, subtree))
            end = middle
        else:
            path.append(_over(start, middle, subtree))
            start = middle
    return path[::-1]


def consistency(old: int, new: int, subtree: Subtree) -> list[bytes]:
    """The consistency proof: the tree of *old* leaves is a prefix of that of *new* leaves.

    Raises:
        ValueError: *old* is 0 or more than *new*.
    """
    if not 0 < old <= new:
        raise ValueError(f"there is no proof from {old} to {new} leaves")
    return list(_subproof(old, 0, new, subtree, known=True))


def _subproof(old: int, start: int, end: int, subtree: Subtree, *, known: bool) -> Iterator[bytes]:
    if old == end - start:
        if not known:
            yield _over(start, end, subtree)
        return
    middle = start + split(end - start)
    if old <= middle - start:
        yield from _subproof(old, start, middle, subtree, known=known)
        yield _over(middle, end, subtree)
    else:
        yield from _subproof(old - (middle - start), middle, end, subtree, known=False)
        yield _over(start, middle, subtree)


def root_of_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root that *path* leads to; None if no path of a tree of *size* has this length."""
    found, last = leaf, size - 1
    if not 0 <= index < size:
        return None
    for each in path:
        if last == 0:
            return None
        if index % 2 or index == last:
            found = node(each, found)
            while index % 2 == 0 and index:
                index, last = index // 2, last // 2
        else:
            found = node(found, each)
        index, last = index // 2, last // 2
    return found if last == 0 else None


def is_consistent(
    old: int, new: int, old_root: bytes, new_root: bytes, path: Sequence[bytes]
) -> bool:
    """Whether *path* proves that the tree of *old* leaves is a prefix of that of *new*."""
    if old == new:
        return not path and old_root == new_root
    if not 0 < old < new:
        return False
    hashes = [*path]
    if old & (old - 1) == 0:  # its root is a node of the new tree, so that proofs omit it
        hashes.insert(0, old_root)
    if not hashes:
        return False
    first, last = old - 1, new - 1
    while first % 2:
        first, last = first // 2, last // 2
    was = now = hashes[0]
    for each in hashes[1:]:
        if last == 0:
            return False
        if first % 2 or first == last:
            was, now = node(each, was), node(each, now)
            while first % 2 == 0 and first:
                first, last = first // 2, last // 2
        else:
            now = node(now, each)
        first, last = first // 2, last // 2
    return (was, now, last) == (old_root, new_root, 0)
