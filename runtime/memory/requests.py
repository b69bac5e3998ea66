"""Who asks for a change of memory, what is found for it, and the facts that say what was done."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from cortex.bus.events import MemoryEdge, MemoryRecord, MemoryRecorded

from .written import WrittenMemory


class Update(NamedTuple):
    """A node that a new one surely replaces, though nobody said so."""

    node_id: str
    certainty: float  # from 0 to 1
    because: str


class RequestRecord(NamedTuple):
    """Who asks, when, and about whom."""

    by: str  # who published the request, as the hub authenticated them
    time_ns: int  # when it was recorded
    node_id: str  # for a new node
    subject: str = ""  # id of whose personal data the request carries
    position: int = 0  # of the request


# Finds what a new node replaces: the request, its subject, and the nodes that it has edges to.
FindUpdates: TypeAlias = Callable[[MemoryRecord, str, Sequence[str]], Sequence[Update]]


def no_updates(asked: MemoryRecord, subject: str, named: Sequence[str]) -> Sequence[Update]:  # noqa: ARG001  # as `FindUpdates` is called
    """Replace nothing without an edge."""
    return ()


def written(one: WrittenMemory, node_id: str, asked: RequestRecord) -> MemoryRecorded:
    """The fact that a consolidation wrote *one* as *node_id*."""
    return MemoryRecorded(
        node_id=node_id,
        kind="observation",
        content=one.content,
        scope=one.scope,
        subject=one.subject,
        origin=one.origin,
        by=asked.by,
        confidence=one.confidence,
        edges=(
            *(MemoryEdge("refines", each) for each in one.ids),
            *(MemoryEdge("supersedes", each) for each in one.replaces),
        ),
        entities=one.entities,
        happened_ns=one.since_ns,
        source=one.source or f"consolidation {asked.node_id}",
        quote=one.quote,
        consolidation_id=asked.node_id,
        form=one.form,
        times=one.times,
    )


def recorded(request: MemoryRecord, asked: RequestRecord, node_id: str) -> MemoryRecorded:
    """The fact that *request* is in memory as *node_id*."""
    return MemoryRecorded(
        node_id=node_id,
        kind=request.kind,
        content=request.content,
        scope=request.scope,
        subject=asked.subject,  # the id: an id of a node may hold a short name by chance
        origin=request.origin,
        by=asked.by,
        confidence=request.confidence,
        edges=request.edges,
        entities=request.entities,
        happened_ns=request.happened_ns,
        source=request.source,
        quote=request.quote,
        embedding=request.embedding,
        uses=request.uses,
        used_ns=request.used_ns,
        said_by=request.said_by,
    )
