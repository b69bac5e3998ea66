"""Memory as a file: JSON Lines, a header first, then nodes and edges. Pure.

    {"cortex_memory":2,"edges":1,"nodes":2}
    {"node":{"content":"...","id":"4ahz...","kind":"decision",...}}
    {"edge":{"edge":"supersedes","from":"52yh...","to":"4ahz..."}}

The lines are canonical: sorted keys, no blanks, and no field that has its default, so that equal
memory gives equal bytes. All lines are checked before anything is taken in.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Final

import msgspec

from cortex.bus.events import EdgeType, Kind, MemoryRecord, Origin

from .errors import MemoryInvalidError
from .nodes import check_record

VERSION: Final = 2
READABLE: Final = (1, 2)  # version 1 had no pins, no uses and no further sources
LONGEST_LINE: Final = 1 << 20  # bytes; a node may have 16,000 characters, and as many in quotes

_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode
_UNREADABLE: Final = (msgspec.MsgspecError, RecursionError)  # the second: nested without end


class ExchangedSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A further source of a node, in a file."""

    source: str = ""
    quote: str = ""
    by: str = ""  # who said so there


class ExchangedNode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node in a file."""

    id: str
    kind: Kind
    content: str
    scope: str
    origin: Origin
    confidence: float = 1.0
    since_ns: int  # since when it is so, UTC nanoseconds
    entities: tuple[str, ...] = ()
    source: str = ""
    quote: str = ""
    by: str = ""  # who recorded it, where it was recorded first
    subject: str = ""  # name of whose personal data it is, if the file has it
    pinned: bool = False
    uses: int = 0  # prompts that it was in
    used_ns: int = 0  # time of the last of them, UTC nanoseconds; 0 for none
    sources: tuple[ExchangedSource, ...] = ()  # further ones, oldest first


class ExchangedEdge(msgspec.Struct, frozen=True, kw_only=True, rename={"node_id": "from"}):
    """An edge in a file."""

    node_id: str
    edge: EdgeType
    to: str


class Exchange(msgspec.Struct, frozen=True):
    """The contents of a file."""

    nodes: tuple[ExchangedNode, ...]
    edges: tuple[ExchangedEdge, ...]


class _Header(msgspec.Struct, frozen=True):
    cortex_memory: int
    nodes: int = 0
    edges: int = 0


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    node: ExchangedNode | None = None
    edge: ExchangedEdge | None = None


def lines_of(exchange: Exchange) -> Iterator[bytes]:
    """The lines of a file, each with its end."""
    header = _Header(VERSION, len(exchange.nodes), len(exchange.edges))
    yield _ENCODE(header) + b"\n"
    for node in exchange.nodes:
        yield _ENCODE({"node": node}) + b"\n"
    for edge in exchange.edges:
        yield _ENCODE({"edge": edge}) + b"\n"


def read_lines(lines: Iterable[bytes]) -> Exchange:
    """The contents of a file, after every line was checked.

    Raises:
        MemoryInvalidError: Which line is wrong, and why; nothing was taken in.
    """
    nodes: dict[str, ExchangedNode] = {}
    edges: list[ExchangedEdge] = []
    header: _Header | None = None
    for number, line in enumerate(lines, 1):
        if header is None:
            header = _header(line)
            continue
        if not line.strip():
            continue
        read = _read(number, line)
        if read.node is not None:
            _check_node(number, read.node, nodes)
            nodes[read.node.id] = read.node
        elif read.edge is not None:
            edges.append(read.edge)
        else:
            raise _wrong(number, "is neither a node nor an edge")
    if header is None:
        raise MemoryInvalidError("the file is empty: `cortex memory export` writes one")
    if (len(nodes), len(edges)) != (header.nodes, header.edges):
        raise MemoryInvalidError(
            f"the file has {len(nodes):,} nodes and {len(edges):,} edges, its first line says "
            f"{header.nodes:,} and {header.edges:,}: it is cut off, export it again"
        )
    _check_circles(edges)
    return Exchange(tuple(nodes.values()), tuple(edges))


def record_of_exchanged(node: ExchangedNode) -> MemoryRecord:
    """The request that records *node* under its id."""
    return MemoryRecord(
        kind=node.kind,
        content=node.content,
        scope=node.scope,
        subject=node.subject,
        origin=node.origin,
        confidence=node.confidence,
        entities=node.entities,
        happened_ns=node.since_ns,
        source=node.source,
        quote=node.quote,
        update=False,
        node_id=node.id,
        uses=node.uses,
        used_ns=node.used_ns,
        said_by=node.by,
    )


def record_of_source(node: ExchangedNode, source: ExchangedSource) -> MemoryRecord:
    """The request that records a further source of *node*, once that is in memory."""
    return msgspec.structs.replace(
        record_of_exchanged(node),
        source=source.source,
        quote=source.quote,
        uses=0,
        used_ns=0,
        said_by=source.by,
    )


def missing_ends(exchange: Exchange, known: Mapping[str, Any]) -> list[str]:
    """Ends of edges that are neither in the file nor among those *known*."""
    ids = {node.id for node in exchange.nodes}
    ends = {end for edge in exchange.edges for end in (edge.node_id, edge.to)}
    return sorted(end for end in ends if end not in ids and end not in known)


def lines_in(file: BinaryIO) -> Iterator[bytes]:
    """The lines of *file*, of which none is read to its end if it is too long to be accepted."""
    while line := file.readline(LONGEST_LINE + 1):
        yield line


def _header(line: bytes) -> _Header:
    try:
        header = msgspec.json.decode(line, type=_Header)
    except _UNREADABLE:
        raise _wrong(1, "is not the first line of an export of memory") from None
    if header.cortex_memory not in READABLE:
        raise MemoryInvalidError(
            f"the export has the version {header.cortex_memory}, this program reads {VERSION} and "
            "older ones: import it with the version of Cortex that wrote it, or a newer one"
        )
    return header


def _read(number: int, line: bytes) -> _Line:
    if len(line) > LONGEST_LINE:
        raise _wrong(number, f"has more than {LONGEST_LINE:,} bytes")
    try:
        return msgspec.json.decode(line, type=_Line)
    except _UNREADABLE as error:
        raise _wrong(number, f"cannot be read: {error}") from None


def _check_node(number: int, node: ExchangedNode, before: Mapping[str, ExchangedNode]) -> None:
    if node.id in before:
        raise _wrong(number, f"has the id {node.id[:80]!r}, which an earlier line has")
    if not node.id:
        raise _wrong(number, "has no id")
    try:
        check_record(record_of_exchanged(node))
        for source in node.sources:
            check_record(record_of_source(node, source))
    except MemoryInvalidError as error:
        raise _wrong(number, f"cannot be taken in: {error}") from None


def _check_circles(edges: Iterable[ExchangedEdge]) -> None:
    """Refuse edges by which something would replace itself."""
    older: dict[str, list[str]] = {}
    for edge in edges:
        if edge.edge == "supersedes":
            older.setdefault(edge.node_id, []).append(edge.to)
    done: set[str] = set()
    for start in older:
        path: dict[str, Iterator[str]] = {start: iter(older[start])}
        while path:
            at = next(reversed(path))
            to = next(path[at], None)
            if to is None:
                done.add(at)
                del path[at]
            elif to in path:
                raise MemoryInvalidError(
                    f"by the edges of the file, memory {to} would supersede itself: remove one of "
                    f"the edges between {to} and {at}"
                )
            elif to not in done:
                path[to] = iter(older.get(to, ()))


def _wrong(number: int, problem: str) -> MemoryInvalidError:
    return MemoryInvalidError(f"line {number:,} {problem}: nothing was taken in")
