"""Finds nodes that are in the place of one older node: they contradict each other, and say so.

Requests replace a node once. Still two may be in its place: somebody joins them to it, a file of
another home does, or a successor that was forgotten comes back. Each pair gets a `contradicts`
edge, as soon as the later of them is in that place; what replaces one of the two inherits it.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .rules import RULE

MOST: Final = 100  # nodes that are looked at for one edge

_OLDER = "select target from memory_edges where node = ? and edge = 'supersedes' and position <= ?"
_IN_PLACE = (
    "select node from memory_edges where target = ? and edge = 'supersedes' and position <= ?"
)
_BESIDE = (
    "select case when node = ?1 then target else node end from memory_edges where "
    "(node = ?1 or target = ?1) and edge = 'contradicts' and by = 'rule' and position <= ?2"
)
_PARTS = (
    "select 1 from memory_edges where edge = 'refines' and position <= ?3 and "
    "((node = ?1 and target = ?2) or (node = ?2 and target = ?1))"
)
_WRITTEN = "select 1 from memory_nodes where id = ? and consolidation != ''"


def contradicting(
    connection: sqlite3.Connection, edges: Iterable[tuple[Any, ...]]
) -> Iterator[tuple[Any, ...]]:
    """Rows of edges between what is in one place, by *edges*, which are in the table.

    They depend on what is in the table up to the position of each, and not on what is behind it.
    """
    replaced = {(row[0], row[2]): int(row[3]) for row in reversed(list(edges)) if _replaces(row)}
    for (node_id, old), position in sorted(replaced.items(), key=lambda each: each[1]):
        for rival in _rivals(connection, node_id, old, position):
            because = f"both are in the place of {old}"
            yield node_id, "contradicts", rival, position, RULE, 1.0, because


def _replaces(row: tuple[Any, ...]) -> bool:
    return bool(row[1] == "supersedes")


def _rivals(connection: sqlite3.Connection, node_id: str, old: str, position: int) -> list[str]:
    """What else is in the place of *old*, or of what was in one place with it."""

    def ids(query: str, of: str) -> list[str]:
        return sorted(str(row[0]) for row in connection.execute(query, (of, position)))

    own = {node_id, *ids(_OLDER, node_id)}
    open_ = [each for each in (*ids(_IN_PLACE, old), *ids(_BESIDE, old)) if each not in own]
    if not open_ or connection.execute(_WRITTEN, (node_id,)).fetchone():
        return []
    found, seen = list[str](), {node_id, *open_}
    while open_ and len(seen) < MOST:
        at = open_.pop(0)
        newer = ids(_IN_PLACE, at)
        if not newer and at not in own:
            found.append(at)
        open_ += [each for each in newer if each not in seen]
        seen.update(newer)
    return [each for each in found if not _are_apart(connection, node_id, each, position)]


def _are_apart(connection: sqlite3.Connection, one: str, other: str, position: int) -> bool:
    """Whether both may be right: one says the other more exactly, or a consolidation wrote it."""
    return any(
        connection.execute(query, values).fetchone() is not None
        for query, values in ((_PARTS, (one, other, position)), (_WRITTEN, (other,)))
    )
