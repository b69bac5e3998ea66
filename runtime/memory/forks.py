"""Finds nodes that are in the place of one older node: they contradict each other, and say so.

Requests replace a node once. Still two may be in its place: somebody joins them to it, a file of
another home does, or a successor that was forgotten comes back. Each pair gets a `contradicts`
edge, as soon as an edge puts both there; what replaces one of the two inherits it.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .rules import RULE

MOST: Final = 200  # nodes that are looked at for one edge, the nearest first

# The last ones of what replaced a node (?1), or itself; and the last ones of all that is in the
# place of what it replaced. Up to a position (?2), looking at so many nodes (?3).
_OWN = """
    with recursive above(id) as (
        values (?1) union select node from memory_edges join above on target = id
        where edge = 'supersedes' and position <= ?2 limit ?3
    )
    select id from above where not exists (
        select 1 from memory_edges where target = id and edge = 'supersedes' and position <= ?2
    ) order by id
"""
_ALL = """
    with recursive older(id) as (
        values (?1) union select target from memory_edges join older on node = id
        where edge = 'supersedes' and position <= ?2 limit ?3
    ), newer(id) as (
        select id from older union select node from memory_edges join newer on target = id
        where edge = 'supersedes' and position <= ?2 limit 2 * ?3
    )
    select id from newer where not exists (
        select 1 from memory_edges where target = id and edge = 'supersedes' and position <= ?2
    ) order by id
"""
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
    replaced = [(int(row[3]), str(row[0]), str(row[2])) for row in edges if row[1] == "supersedes"]
    for position, node_id, old in sorted(set(replaced)):
        for one, other in _pairs(connection, node_id, position):
            because = f"both are in the place of {old}"
            yield one, "contradicts", other, position, RULE, 1.0, because


def _pairs(
    connection: sqlite3.Connection, node_id: str, position: int
) -> Iterator[tuple[str, str]]:
    """What is in the place of *node_id*, and what else is in the place of what it replaced."""
    own, every = (
        [str(row[0]) for row in connection.execute(query, (node_id, position, MOST))]
        for query in (_OWN, _ALL)
    )
    for other in every:
        for one in own:
            if other not in own and not _are_apart(connection, one, other, position):
                yield one, other


def _are_apart(connection: sqlite3.Connection, one: str, other: str, position: int) -> bool:
    """Whether both may be right: one says the other more exactly, or a consolidation wrote it."""
    asked = ((_PARTS, (one, other, position)), (_WRITTEN, (one,)), (_WRITTEN, (other,)))
    return any(connection.execute(query, values).fetchone() is not None for query, values in asked)
