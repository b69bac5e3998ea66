"""Whether memory would take in all of a file: each request is decided about before one is recorded.

Pure; it is the `Decider` that decides here and later, so that both say the same.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from cortex.bus.events import MemoryLink, MemoryLinked, MemoryRecord, MemoryRefused

from .chains import NodeState
from .decide import Decider
from .nodes import Edge, Node, same_digest
from .requests import RequestRecord
from .state import Gone, Known, MemoryState


def refusal_of(
    requests: Iterable[MemoryRecord | MemoryLink],
    known: Mapping[str, tuple[Node, NodeState]],
    edges: Iterable[Edge],
    now_ns: int,
) -> str:
    """Why memory would refuse the first of *requests* that it would refuse; "" for none.

    Args:
        requests: In their order; each one that is not refused counts for those behind it.
        known: The nodes here that the requests name, by id; subjects as the requests name them.
        edges: The edges of those nodes.
        now_ns: UTC nanoseconds.
    """
    decider = Decider(_state_of(known, edges))
    for request in requests:
        subject = request.subject if isinstance(request, MemoryRecord) else ""
        (first, *_) = decider.decide(request, RequestRecord("", now_ns, "", subject))
        if isinstance(first, MemoryRefused):
            return first.reason
    return ""


def _state_of(known: Mapping[str, tuple[Node, NodeState]], edges: Iterable[Edge]) -> MemoryState:
    state = MemoryState()
    for node, how in known.values():
        digest = same_digest(node.scope, node.subject, node.content)
        state.nodes[node.id] = Known(
            node.kind, node.scope, node.subject, node.origin, digest, node.confidence
        )
        if how.gone:
            state.gone[node.id] = cast("Gone", how.gone)
    for edge in edges:
        state.apply(MemoryLinked(node_id=edge.node_id, edge=edge.edge, to=edge.to, scope="", by=""))
    return state
