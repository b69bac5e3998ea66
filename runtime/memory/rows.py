"""Rows of the projection of memory as nodes and edges, and parts of statements that read them."""

import json
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, cast

from cortex.bus.events import EdgeType, Form, Kind

from .nodes import Edge, Node

TOGETHER: Final = 200  # ids in one query
NODE: Final = (
    "id, position, time_ns, kind, content, scope, subject, origin, by, confidence, happened_ns, "
    "entities, source, quote, consolidation, embedding, times, form, said_by"
)


class JournalRow(NamedTuple):
    """Something that happened to a node, or to a package, whose id begins with "package:"."""

    position: int
    what: str  # "node", "edge", "used", or a change: "forgotten", "collected", "pinned", ...
    id: str
    detail: str  # the kind of a new node, or of an edge
    other: str  # where an edge leads
    time_ns: int  # of the event; 0 for a change
    size: int  # characters of a new node (0 if it left since), tokens of a package, times of a use


def node_of_row(row: Sequence[Any]) -> Node:
    """The node in a row of `NODE`."""
    return Node(
        id=row[0],
        position=row[1],
        time_ns=row[2],
        kind=cast("Kind", row[3]),
        content=row[4],
        scope=row[5],
        subject=row[6],
        origin=row[7],
        by=row[8],
        confidence=row[9],
        happened_ns=row[10],
        entities=() if row[11] == "[]" else tuple(json.loads(row[11])),
        source=row[12],
        quote=row[13],
        consolidation_id=row[14],
        embedding=tuple(array("f", row[15])),
        times=row[16],
        form=cast("Form", row[17]),
        said_by=row[18],
    )


def edge_of_row(row: Sequence[Any]) -> Edge:
    """The edge in a row."""
    return Edge(
        node_id=row[0],
        edge=cast("EdgeType", row[1]),
        to=row[2],
        position=row[3],
        by=row[4],
        certainty=row[5],
        because=row[6],
    )


def in_scopes(scopes: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """A condition, and its values; none for all scopes."""
    return (f"and scope in ({marks(scopes)})", tuple(scopes)) if scopes else ("", ())


def marks(values: Sequence[object]) -> str:
    """A mark for each value of a statement."""
    return ", ".join("?" * len(values))


def parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """*ids*, as many at a time as one query takes, for its `in (...)`.

    The last one is repeated up to a power of two: queries of few lengths stay prepared.
    """
    for start in range(0, len(ids), TOGETHER):
        part = list(ids[start : start + TOGETHER])
        yield part + part[-1:] * ((1 << (len(part) - 1).bit_length()) - len(part))
