"""A persistent map from text to text: an update shares all but a few nodes with what it came from.

A trie of 16 ways over the SHA-256 of the key, and a Merkle tree at the same time. Its shape depends
on its content alone, not on the order of the updates, so that equal maps have equal digests. A
digest is computed when it is first asked for and stays with its node: after an update, only the
nodes on the way to one key are hashed again. Two maps are compared without looking at shared parts.

    way     the last four bits of the SHA-256 of the key lead from the root, the four before on, ...
    leaf    SHA-256 of "leaf", SHA-256 of the key, and the value in UTF-8
    branch  SHA-256 of "branch" and its 16 digests; 32 zero bytes where there is no child
    empty   32 zero bytes
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from operator import is_
from typing import Final

from msgspec import Struct

_WAYS: Final = 16
_NONE: Final = bytes(32)


# Nodes form no circles. With the garbage collector looking at each of them again and again, a large
# map would take several times as long to make.
class _Leaf(Struct, gc=False, eq=False):
    key: str
    value: str
    path: int
    made: bytes | None = None  # the digest, once it was asked for

    @property
    def digest(self) -> bytes:
        if self.made is None:
            self.made = sha256(
                b"leaf" + self.path.to_bytes(32, "big") + self.value.encode()
            ).digest()
        return self.made


class _Branch(Struct, gc=False, eq=False):
    children: "tuple[_Node | None, ...]"
    made: bytes | None = None

    @property
    def digest(self) -> bytes:
        if self.made is None:
            below = (_NONE if each is None else each.digest for each in self.children)
            self.made = sha256(b"branch" + b"".join(below)).digest()
        return self.made


_Node = _Leaf | _Branch
_News = tuple[int, str, _Leaf | None]  # the rest of the way, the key, and what is there then


class TextMap:
    """An immutable map from text to text; `items` sorts it."""

    __slots__ = ("root",)

    def __init__(self, root: "_Node | None" = None) -> None:
        self.root = root  # for this module alone

    def __bool__(self) -> bool:
        return self.root is not None

    def __len__(self) -> int:
        return sum(1 for _ in _leaves(self.root))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextMap) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"TextMap({dict(self.items())!r})"

    @property
    def digest(self) -> bytes:
        """The root of the Merkle tree: equal for equal content, whatever led to it."""
        return _NONE if self.root is None else self.root.digest

    def get(self, key: str) -> str | None:
        """The value of *key*, or None."""
        node, path = self.root, _path(key)
        while isinstance(node, _Branch):
            node, path = node.children[path & 15], path >> 4
        return node.value if node is not None and node.key == key else None

    def items(self) -> list[tuple[str, str]]:
        """All keys with their values, in the order of the keys' code points."""
        return sorted((leaf.key, leaf.value) for leaf in _leaves(self.root))

    def having(self, key: str, value: str) -> "TextMap":
        """This map with *value* for *key*; this very map where it says so already."""
        leaf = _leaf(key, value)
        root = _put(self.root, leaf, leaf.path, 0)
        return self if root is self.root else TextMap(root)

    def without(self, key: str) -> "TextMap":
        """This map without *key*; this very map where it has none."""
        root = _taken(self.root, key, _path(key))
        return self if root is self.root else TextMap(root)

    def updated(self, news: Mapping[str, str | None]) -> "TextMap":
        """This map with all of *news*, None for what is to go; each shared node is made once."""
        root = self.root
        if root is None:
            news = {key: value for key, value in news.items() if value is not None}
        leaves = [
            (_path(key), key, None if value is None else _leaf(key, value))
            for key, value in news.items()
        ]
        made = _updated(root, leaves, 0)
        return self if made is root else TextMap(made)

    def changes_to(self, other: "TextMap") -> Iterator[tuple[str, str | None, str | None]]:
        """Key, value here and value there of each entry that differs, in no order."""
        return _differing(self.root, other.root)


EMPTY: Final = TextMap()


def _leaf(key: str, value: str) -> _Leaf:
    return _Leaf(key, value, _path(key))


def _path(key: str) -> int:
    """The way to *key* from the root: its last four bits lead to a child of the root."""
    return int.from_bytes(sha256(key.encode()).digest(), "big")


def _put(node: _Node | None, leaf: _Leaf, path: int, depth: int) -> _Node:
    if isinstance(node, _Branch):
        below = node.children[path & 15]
        made = _put(below, leaf, path >> 4, depth + 1)
        return node if made is below else _with_child(node, path & 15, made)
    if node is None:
        return leaf
    if node.key != leaf.key:
        return _fork(node, node.path >> 4 * depth, leaf, path)
    return node if node.value == leaf.value else leaf


def _with_child(branch: _Branch, way: int, child: _Node | None) -> _Branch:
    children = list(branch.children)
    children[way] = child
    return _Branch(tuple(children))


def _fork(one: _Leaf, its_path: int, other: _Leaf, path: int) -> _Branch:
    children: list[_Node | None] = [None] * _WAYS
    first, second = its_path & 15, path & 15
    if first == second:
        children[first] = _fork(one, its_path >> 4, other, path >> 4)
    else:
        children[first], children[second] = one, other
    return _Branch(tuple(children))


def _taken(node: _Node | None, key: str, path: int) -> _Node | None:
    if not isinstance(node, _Branch):
        return None if node is None or node.key == key else node
    below = node.children[path & 15]
    made = _taken(below, key, path >> 4)
    if made is below:
        return node
    return _settled(_with_child(node, path & 15, made))


def _settled(branch: _Branch) -> _Node | None:
    left = [each for each in branch.children if each is not None]
    # A branch over one leaf is that leaf, or the shape would tell that there was more once.
    return branch if len(left) > 1 or (left and isinstance(left[0], _Branch)) else (*left, None)[0]


def _updated(node: _Node | None, news: list[_News], depth: int) -> _Node | None:
    if len(news) <= 1:
        return _with_one(node, news[0], depth) if news else node
    if isinstance(node, _Leaf):
        news = _beside(node, news, depth)
    ways: dict[int, list[_News]] = {}
    for path, key, leaf in news:
        ways.setdefault(path & 15, []).append((path >> 4, key, leaf))
    children: list[_Node | None] = [None] * _WAYS
    if isinstance(node, _Branch):
        children = list(node.children)
    for way, below in ways.items():
        children[way] = _updated(children[way], below, depth + 1)
    if isinstance(node, _Branch) and all(map(is_, node.children, children)):
        return node
    return _settled(_Branch(tuple(children)))


def _with_one(node: _Node | None, one: _News, depth: int) -> _Node | None:
    path, key, leaf = one
    return _taken(node, key, path) if leaf is None else _put(node, leaf, path, depth)


def _beside(node: _Leaf, news: list[_News], depth: int) -> list[_News]:
    """*news*, and *node* where they do not say otherwise."""
    own = next((leaf for _, key, leaf in news if key == node.key), node)
    if own is not None and own.value == node.value:
        own = node
    rest = [each for each in news if each[1] != node.key]
    return [*rest, (node.path >> 4 * depth, node.key, own)]


def _leaves(node: _Node | None) -> Iterator[_Leaf]:
    if isinstance(node, _Leaf):
        yield node
    elif node is not None:
        for child in node.children:
            yield from _leaves(child)


def _differing(
    one: _Node | None, other: _Node | None
) -> Iterator[tuple[str, str | None, str | None]]:
    if one is other:
        return
    if isinstance(one, _Branch) and isinstance(other, _Branch):
        for child, its in zip(one.children, other.children, strict=True):
            yield from _differing(child, its)
        return
    before = {each.key: each.value for each in _leaves(one)}
    after = {each.key: each.value for each in _leaves(other)}
    for key in before.keys() | after.keys():
        if before.get(key) != after.get(key):
            yield key, before.get(key), after.get(key)
