"""Requests to change the memory of a home, as its person."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    EdgeType,
    MemoryConsolidate,
    MemoryConsolidated,
    MemoryCorrect,
    MemoryCorrected,
    MemoryEdge,
    MemoryForget,
    MemoryForgotten,
    MemoryLink,
    MemoryLinked,
    MemoryPin,
    MemoryPinned,
    MemoryRecord,
    MemoryRecorded,
    MemoryRefused,
    MemoryRestore,
    MemoryRestored,
    MemoryReword,
    MemorySuperseded,
    MemoryUndo,
    MemoryUndone,
    MemoryUnpinned,
)
from cortex.runtime.kernel import Home, RefusedError
from cortex.runtime.memory import HomeMemory, Node
from cortex.runtime.sessions import BRIEF_S, Session

from .memory_consolidation import consolidations_of

Fact = TypeVar("Fact", bound=Event)


class ChangeDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a request did."""

    id: str  # of the node, or of the consolidation
    done: str  # "recorded", "again", "corrected", "linked", ...
    position: int
    replaced: list[str] = []  # ids of nodes that are no longer current
    because: list[str] = []  # why, of those that a rule found
    wrote: list[str] = []  # ids of the nodes of a consolidation


def record_memory(home: Home, asked: MemoryRecord) -> ChangeDocument:
    """Record a node, as the person at this home.

    Raises:
        RefusedError: It is malformed, or an edge of it is impossible.
    """
    if asked.edges and not asked.subject:
        _refuse_personal_edges(home, asked.edges)
    with Session.open(home, patience_s=BRIEF_S) as session:
        fact, position = _answered(session, asked, MemoryRecorded)
        found = _replaced(session, position)
    return ChangeDocument(
        id=fact.node_id,
        done="again" if fact.again else "recorded",
        position=position,
        replaced=[each for each, _ in found],
        because=[because for _, because in found if because],
    )


def correct_memory(home: Home, begins: str, content: str, subject: str = "") -> ChangeDocument:
    """Put what is right in the place of a node; of its subject, unless another one is named.

    Raises:
        MemoryMissingError: There is no such node, or several.
        RefusedError: The correction is refused.
    """
    node = _node(home, begins)
    # A request without the subject would be refused, and its text would stay in the log in clear.
    subject = subject or node.subject
    asked = MemoryCorrect(
        node_id=node.id, content=content, scope=node.scope, subject=subject, origin="person"
    )
    fact, position = _asked(home, asked, MemoryCorrected)
    return ChangeDocument(
        id=fact.correction, done="corrected", position=position, replaced=[node.id]
    )


def link_memories(home: Home, begins: str, edge: EdgeType, other: str) -> ChangeDocument:
    """Add an edge between two nodes; raises as `correct_memory`."""
    node, to = _node(home, begins), _node(home, other)
    asked = MemoryLink(node_id=node.id, edge=edge, to=to.id, scope=node.scope, origin="person")
    _, position = _asked(home, asked, MemoryLinked)
    replaced = [to.id] if edge == "supersedes" else []
    return ChangeDocument(id=node.id, done="linked", position=position, replaced=replaced)


def pin_memory(home: Home, begins: str, *, pinned: bool = True) -> ChangeDocument:
    """Pin a node, or release it; raises as `correct_memory`."""
    node = _node(home, begins)
    asked = MemoryPin(node_id=node.id, scope=node.scope, pinned=pinned)
    fact: type[MemoryPinned | MemoryUnpinned] = MemoryPinned if pinned else MemoryUnpinned
    _, position = _asked(home, asked, fact)
    done = "pinned" if pinned else "unpinned"
    return ChangeDocument(id=node.id, done=done, position=position)


def forget_memory(home: Home, begins: str, why: str = "") -> ChangeDocument:
    """Take a node out of memory; raises as `correct_memory`."""
    node = _node(home, begins)
    asked = MemoryForget(node_id=node.id, scope=node.scope, why=why, subject=node.subject)
    _, position = _asked(home, asked, MemoryForgotten)
    return ChangeDocument(id=node.id, done="forgotten", position=position)


def restore_memory(home: Home, begins: str) -> ChangeDocument:
    """Bring back a node that was forgotten or collected; raises as `correct_memory`."""
    node = _node(home, begins)
    _, position = _asked(home, MemoryRestore(node_id=node.id, scope=node.scope), MemoryRestored)
    return ChangeDocument(id=node.id, done="restored", position=position)


def undo_consolidation(home: Home, consolidation_id: str) -> ChangeDocument:
    """Take back what a consolidation wrote.

    Raises:
        RefusedError: There is no such consolidation, or it was undone.
    """
    fact, position = _asked(home, MemoryUndo(consolidation_id=consolidation_id), MemoryUndone)
    return ChangeDocument(
        id=consolidation_id, done="undone", position=position, replaced=list(fact.nodes)
    )


def consolidate_memory(home: Home, scope: str = "", most: int = 1_000) -> ChangeDocument:
    """Consolidate *scope*, or all scopes, reading at most *most* nodes.

    Raises:
        RefusedError: The scope or the budget is none, or nothing answered in time.
    """
    found = consolidations_of(home, MemoryConsolidate(scope=scope, most=most))
    (fact, _), *others = found
    left = sum(each.left for each, _ in found)
    because = [f"{left:,} memories are left for the next one"] if left else []
    because += [
        f"{len(each.wrote)} of them, about executions, are of consolidation {each.consolidation_id}"
        for each, _ in others
        if each.wrote
    ]
    return ChangeDocument(
        id=fact.consolidation_id,
        done="consolidated",
        position=max(position for _, position in found),
        wrote=[node_id for each, _ in found for node_id in each.wrote],
        because=because,
    )


def reword_memory(home: Home, begins: str, draft: str, subject: str = "") -> ChangeDocument:
    """Write the summary whose id begins with *begins* in the words of *draft*; for its subject.

    Raises:
        MemoryMissingError: There is no such node, or several.
        RefusedError: The draft does not stand, or it is no summary.
    """
    node = _node(home, begins)
    subject = subject or node.subject  # as in `correct_memory`
    asked = MemoryReword(node_id=node.id, draft=draft, scope=node.scope, subject=subject)
    fact, position = _asked(home, asked, MemoryConsolidated)
    return ChangeDocument(
        id=fact.consolidation_id, done="reworded", position=position, wrote=list(fact.wrote)
    )


def _refuse_personal_edges(home: Home, edges: Sequence[MemoryEdge]) -> None:
    """Refuse edges of a node about nobody to one about somebody, before anything is recorded.

    Memory would refuse them, too; but the request would stay in the log in clear.
    """
    with HomeMemory.open(home) as memory:
        nodes = memory.view.nodes([edge.to for edge in edges])
    for node in nodes.values():
        if node.subject:
            raise RefusedError(
                f"memory {node.id} is personal data of a subject: name the same one with "
                "--subject; nothing was recorded"
            )


def _node(home: Home, begins: str) -> Node:
    """The node that is to be changed; a home that is not trusted is only read."""
    home.require_trust()
    with HomeMemory.open(home) as memory:
        node_id = memory.view.resolve(begins)
        return memory.view.nodes([node_id])[node_id]


def _asked(home: Home, asked: Event, fact: type[Fact]) -> tuple[Fact, int]:
    with Session.open(home, patience_s=BRIEF_S) as session:
        return _answered(session, asked, fact)


def _answered(session: Session, asked: Event, fact: type[Fact]) -> tuple[Fact, int]:
    answer, position = session.answer_to(asked, fact, MemoryRefused)
    if isinstance(answer, MemoryRefused):
        raise RefusedError(answer.reason)
    return answer, position


def _replaced(session: Session, position: int) -> list[tuple[str, str]]:
    """The nodes that the same request replaced, which stand right behind its fact."""
    record = session.history.at(position)
    cause = record.causation if record is not None else None
    found: list[tuple[str, str]] = []
    for after in session.history.read(position):
        event = session.history.event(after)
        if after.causation != cause or not isinstance(event, MemorySuperseded):
            break
        found.append((event.node_id, event.because))
    return found


def edges_from(
    supersedes: Sequence[str],
    refines: Sequence[str],
    contradicts: Sequence[str],
    led_to: Sequence[str],
    caused_by: Sequence[str],
) -> tuple[MemoryEdge, ...]:
    """The edges of a new node, as options give them."""
    named: tuple[tuple[EdgeType, Sequence[str]], ...] = (
        ("supersedes", supersedes),
        ("refines", refines),
        ("contradicts", contradicts),
        ("led_to", led_to),
        ("caused_by", caused_by),
    )
    return tuple(MemoryEdge(edge, to) for edge, ids in named for to in ids)


def resolved_edges(home: Home, edges: Sequence[MemoryEdge]) -> tuple[MemoryEdge, ...]:
    """*edges* to the nodes whose ids begin so.

    Raises:
        MemoryMissingError: There is no such node, or several.
    """
    if not edges:
        return ()
    with HomeMemory.open(home) as memory:
        return tuple(MemoryEdge(e.edge, memory.view.resolve(e.to)) for e in edges)
