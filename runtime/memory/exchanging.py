"""What of memory goes into a file, and which requests take a file into memory. Pure over a view.

What rules derive from executions is not in a file: the log of another home says other things.
Neither is what was replaced by something that left memory, since nothing in the file would say so,
and it would be current again in the home that takes the file.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from msgspec.structs import replace

from cortex.bus.events import MemoryLink, MemoryPin, MemoryRecord

from .chains import NodeState
from .errors import MemoryInvalidError
from .exchange import (
    Exchange,
    ExchangedEdge,
    ExchangedNode,
    ExchangedSource,
    missing_ends,
    record_of_exchanged,
    record_of_source,
)
from .nodes import Edge, Node
from .rehearsal import refusal_of
from .rules import RULE, execution_of
from .view import MemoryView


class Exported(NamedTuple):
    """The contents of a file, and how many nodes are not in it."""

    exchange: Exchange
    personal: int  # of subjects, which a file would hold in clear
    derived: int  # that rules derive from executions
    replaced: int  # by something that left memory


class ImportRequests(NamedTuple):
    """The requests for what is in a file and not in memory, in the order in which they are made."""

    records: tuple[MemoryRecord, ...]  # new nodes
    sources: tuple[MemoryRecord, ...]  # further sources
    links: tuple[MemoryLink, ...]
    pins: tuple[MemoryPin, ...]


def exported(
    view: MemoryView,
    scopes: Set[str] = frozenset(),
    names: Mapping[str, str] | None = None,
    *,
    with_subjects: bool = False,
) -> Exported:
    """What is in memory, as a file has it: nodes in the order in which they were recorded.

    Args:
        view: Of memory.
        scopes: Only of these; none for all.
        names: Of subjects, by id: a file names whose personal data it has.
        with_subjects: Personal data, too.
    """
    ids = view.touched(0)
    states, nodes = view.states(ids), view.nodes(ids)
    there = [n for n in nodes.values() if not states[n.id].gone]
    there = [n for n in there if not scopes or n.scope in scopes]
    allowed = [n for n in there if with_subjects or not n.subject]
    recorded = [n for n in allowed if not execution_of(n.id)]
    replacing = _replacing({n.id for n in recorded}, states)
    kept = [n for n in recorded if n.id in replacing]
    kept.sort(key=lambda node: (node.position, node.id))
    exchange = Exchange(
        tuple(_node(view, node, states[node.id], names or {}) for node in kept),
        _edges_between({node.id for node in kept}, view.edges([node.id for node in kept])),
    )
    return Exported(
        exchange,
        personal=len(there) - len(allowed),
        derived=len(allowed) - len(recorded),
        replaced=len(recorded) - len(kept),
    )


def import_requests(
    exchange: Exchange, view: MemoryView, names: Mapping[str, str], now_ns: int
) -> ImportRequests:
    """The requests for what of a file is not in memory yet; memory will take in all of them.

    What is there stays as it is; of a node that left memory, nothing is taken in.

    Raises:
        MemoryInvalidError: Memory would refuse one of them, and why; nothing was taken in.
    """
    ids = [node.id for node in exchange.nodes]
    ends = [end for edge in exchange.edges for end in (edge.node_id, edge.to)]
    known = _known(view, dict.fromkeys((*ids, *ends)), names)
    _check_known(exchange, known)
    joining = _joining(view, known)
    fresh = [node for node in exchange.nodes if node.id not in known]
    open_ = [n for n in exchange.nodes if n.id not in known or not known[n.id][1].gone]
    requests = ImportRequests(
        tuple(map(record_of_exchanged, fresh)),
        tuple(_sources(view, open_, known)),
        tuple(_links(exchange, known, joining)),
        tuple(
            MemoryPin(node_id=node.id, scope=node.scope)
            for node in open_
            if node.pinned and not (node.id in known and known[node.id][1].pinned)
        ),
    )
    first: list[MemoryRecord | MemoryLink] = [*requests.records, *requests.sources]
    first += requests.links
    if reason := refusal_of(first, known, joining, now_ns):
        raise MemoryInvalidError(f"{reason}: nothing was taken in")
    return requests


def _replacing(ids: Set[str], states: Mapping[str, NodeState]) -> set[str]:
    """Those of *ids* that are current, or that one of them replaced that is itself kept."""
    kept = {each for each in ids if not states[each].successors}
    older: dict[str, list[str]] = {}
    for each in ids:
        for successor in states[each].successors:
            older.setdefault(successor, []).append(each)
    open_ = list(kept)
    while open_:
        fresh = [each for each in older.get(open_.pop(), ()) if each not in kept]
        kept.update(fresh)
        open_ += fresh
    return kept


def _node(
    view: MemoryView, node: Node, state: NodeState, names: Mapping[str, str]
) -> ExchangedNode:
    further = view.said_again(node.id) if state.sources > 1 else []
    return ExchangedNode(
        id=node.id,
        kind=node.kind,
        content=node.content,
        scope=node.scope,
        origin=node.origin,
        confidence=node.confidence,
        since_ns=node.since_ns,
        entities=node.entities,
        source=node.source,
        quote=node.quote,
        by=node.said_by or node.by,
        subject=names.get(node.subject, node.subject),
        pinned=state.pinned,
        uses=state.uses,
        used_ns=state.used_ns,
        sources=tuple(
            ExchangedSource(source=each.source, quote=each.quote, by=each.said_by or each.by)
            for each in further
        ),
    )


def _edges_between(ids: Set[str], edges: Iterable[Edge]) -> tuple[ExchangedEdge, ...]:
    between = sorted(
        (e.position, e.node_id, e.edge, e.to)
        for e in edges
        if {e.node_id, e.to} <= ids and e.by != RULE  # memory finds it again
    )
    return tuple(ExchangedEdge(node_id=a, edge=edge, to=b) for _, a, edge, b in between)


def _known(
    view: MemoryView, wanted: Iterable[str], names: Mapping[str, str]
) -> dict[str, tuple[Node, NodeState]]:
    """Those of the *wanted* nodes that are in this home, with the names of their subjects."""
    nodes = view.nodes(list(wanted))
    states = view.states(list(nodes))
    return {
        node.id: (
            replace(node, subject=names.get(node.subject, node.subject)),
            states[node.id],
        )
        for node in nodes.values()
    }


def _joining(view: MemoryView, known: Iterable[str]) -> list[Edge]:
    """The edges of the *known* nodes, and of all that replaced them: a circle may close there."""
    found: dict[tuple[str, str, str], Edge] = {}
    seen, open_ = set[str](), set(known)
    while open_:
        seen |= open_
        edges = view.edges(list(open_))
        found |= {(e.node_id, e.edge, e.to): e for e in edges}
        successors = {e.node_id for e in edges if e.edge == "supersedes" and e.to in open_}
        open_ = successors - seen
    return list(found.values())


def _check_known(exchange: Exchange, known: Mapping[str, tuple[Node, NodeState]]) -> None:
    if missing := missing_ends(exchange, known):
        raise MemoryInvalidError(
            f"an edge leads to {missing[0]}, which is neither in the file nor in memory: "
            "nothing was taken in"
        )
    for node in exchange.nodes:
        if node.id in known and known[node.id][0].content != node.content:
            raise MemoryInvalidError(
                f"memory {node.id} of this home says something else: nothing was taken in"
            )


def _sources(
    view: MemoryView, nodes: Iterable[ExchangedNode], known: Mapping[str, object]
) -> Iterable[MemoryRecord]:
    for node in nodes:
        there: Counter[ExchangedSource] = Counter()
        if node.sources and node.id in known:
            there.update(
                ExchangedSource(source=each.source, quote=each.quote, by=each.said_by or each.by)
                for each in view.said_again(node.id)
            )
        for source in node.sources:
            if there[source]:
                there[source] -= 1
            else:
                yield record_of_source(node, source)


def _links(
    exchange: Exchange, known: Mapping[str, tuple[Node, NodeState]], joining: Iterable[Edge]
) -> Iterable[MemoryLink]:
    there = {(e.node_id, e.edge, e.to) for e in joining}
    scopes = {node.id: node.scope for node in exchange.nodes}
    scopes |= {node.id: node.scope for node, _ in known.values()}
    return (
        MemoryLink(
            node_id=e.node_id, edge=e.edge, to=e.to, scope=scopes[e.node_id], origin="person"
        )
        for e in exchange.edges
        if (e.node_id, e.edge, e.to) not in there
    )
