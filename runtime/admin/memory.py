"""The memory of a home for commands: lists, searches and chains."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from cortex.bus.events import Kind
from cortex.runtime.directives import Ledgers, ScopedOverruling
from cortex.runtime.kernel import Home, iso
from cortex.runtime.memory import (
    Chain,
    HomeMemory,
    MemoryMissingError,
    MemoryResult,
    Node,
    NodeState,
    Scope,
    walk,
)
from cortex.runtime.projections import HomeLog

from .memory_facts import FactChainDocument, fact_chain_document

CONSTRAINING = ("decision", "correction", "preference")
CONSTRAINTS_LOOKED_AT = 50  # memories


class MemoryRow(msgspec.Struct, frozen=True, kw_only=True):
    """A node in a list."""

    id: str
    kind: str
    scope: str
    since: str  # UTC: since when it is so
    by: str
    content: str
    standing: str  # "current", "replaced", "forgotten", "collected" or "undone"
    pinned: bool = False
    uses: int = 0  # prompts that it was in
    score: float = 0.0  # of a search
    why: dict[str, float] = {}
    through: str = ""  # id of the hit that led to it
    contradicted_by: tuple[str, ...] = ()
    position: int = 0  # of the event that recorded it
    overruled_by: str = ""  # the directive that says otherwise, quoted


class MemoryList(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes, and the position of the log that the list holds for."""

    memories: list[MemoryRow]
    position: int
    certainty: float = 0.0
    answers: float = 0.0  # that memory has an answer at all
    notes: list[str] = []
    chain: FactChainDocument | None = None  # memories that answer only together


class MemoryDetails(msgspec.Struct, frozen=True, kw_only=True):
    """Where a memory comes from, and why it left."""

    origin: str  # "person", "rule", "component" or "model"
    confidence: float
    entities: tuple[str, ...]
    source: str
    quote: str
    again: list[dict[str, str]]  # time, by, source and quote of each further source
    left: str  # "forgotten", "collected" or "undone"; "" while it is in memory
    left_by: str
    left_why: str


class ChainRow(msgspec.Struct, frozen=True, kw_only=True):
    """A node on a walk along a chain."""

    depth: int
    said: str  # "led to", "in place of", ...
    memory: MemoryRow


class ConsolidationRow(msgspec.Struct, frozen=True, kw_only=True):
    """A consolidation."""

    id: str
    time: str  # UTC
    scope: str  # "" for all
    read: int  # nodes that it cites
    wrote: list[str]  # ids of its nodes
    undone: bool


class ChainDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A chain: what holds now, and the walks from one of its nodes."""

    id: str  # of its oldest node
    position: int
    whole: bool
    nodes: list[MemoryRow]  # oldest first
    edges: list[dict[str, str]]  # node, edge, to, because
    current: list[str]
    contradictions: list[list[str]]
    belief: dict[str, float]
    why: list[ChainRow]  # backward from the node that was asked for
    after: list[ChainRow]  # forward
    about_the_same: list[
        MemoryRow
    ] = []  # outcomes of other executions about the same, newest first
    found_by: str = ""  # the text, if the node was found by one
    asked: MemoryDetails | None = None  # of the node that was asked for


def consolidation_rows(home: Home, limit: int = 50) -> list[ConsolidationRow]:
    """The newest consolidations of *home*.

    Raises:
        MemoryStoreError: The store cannot be used.
    """
    with HomeMemory.open(home) as memory:
        found = memory.view.consolidations(limit)
        states = memory.view.states([node for each in found for node in each["wrote"]])
    return [
        ConsolidationRow(
            id=each["id"],
            time=iso(each["time_ns"]),
            scope=each["scope"],
            read=len(each["read"]),
            wrote=each["wrote"],
            undone=any(states[node].gone == "undone" for node in each["wrote"]),
        )
        for each in found
    ]


def search_memory(
    home: Home, text: str, scopes: Sequence[str], *, history: bool, limit: int
) -> MemoryList:
    """The nodes of *scopes* that have most to do with *text*.

    Raises:
        MemoryInvalidError: One of the scopes is none.
        MemoryStoreError: The store cannot be used.
        RetrievalError: The index cannot be used.
    """
    wanted = [str(Scope.parse(scope)) for scope in scopes]
    with HomeMemory.open(home) as memory:
        wanted = wanted or memory.view.scopes()
        (found,) = memory.find((text,), wanted, history=history, limit=limit)
    listed = _found(found)
    return replace(listed, memories=with_overruled(home, listed.memories, scopes))


def list_memories(
    home: Home,
    scopes: Sequence[str] = (),
    kinds: Sequence[Kind] = (),
    *,
    history: bool = False,
    gone: bool = False,
    limit: int = 50,
) -> MemoryList:
    """The newest nodes; what was replaced with *history*, what left memory with *gone*.

    Raises:
        MemoryInvalidError: One of the scopes is none.
        MemoryStoreError: The store cannot be used.
    """
    wanted = [str(Scope.parse(scope)) for scope in scopes]
    with HomeMemory.open(home) as memory:
        listed = memory.view.listed(wanted, kinds, history=history, gone=gone, limit=limit)
        rows = [row_of(node, state) for node, state in listed]
        position = memory.view.position
    return MemoryList(memories=with_overruled(home, rows, scopes), position=position)


def chain_document(home: Home, asked: str, *, words: bool = False) -> ChainDocument:
    """The chain of a node, and the walks from it.

    Args:
        home: Whose memory it is.
        asked: The beginning of an id; or a text, for the best node that fits it.
        words: Whether one word may be a text, too.

    Raises:
        MemoryMissingError: Nothing fits, or several ids begin so.
        MemoryStoreError: The store cannot be used.
        RetrievalError: The index cannot be used.
    """
    with HomeMemory.open(home) as memory:
        start, found_by = _meant(memory, asked, words=words)
        chain, position = memory.view.chain(start), memory.view.position
        known = {node.id for node in chain.nodes}
        entities = dict.fromkeys(name for node in chain.nodes for name in node.entities)
        others = [each for each in memory.view.about(tuple(entities)) if each not in known]
        states = memory.view.states(others)
        same = [row_of(n, states[n.id]) for n in memory.view.nodes(others).values()]
        details = _details(memory, chain, start)
    marked = with_overruled(home, [row_of(node, chain.states[node.id]) for node in chain.nodes])
    rows = {row.id: row for row in marked}
    return ChainDocument(
        id=chain.id,
        position=position,
        whole=chain.whole,
        nodes=list(rows.values()),
        edges=[
            {"node": e.node_id, "edge": e.edge, "to": e.to, "because": e.because}
            for e in chain.edges
        ],
        current=[node.id for node in chain.current],
        contradictions=[list(pair) for pair in chain.contradictions],
        belief={node.id: round(chain.belief(node), 4) for node in chain.current},
        why=_walked(chain, start, rows, "backward"),
        after=_walked(chain, start, rows, "forward"),
        about_the_same=with_overruled(home, same),
        found_by=found_by,
        asked=details,
    )


def constraints(home: Home, text: str, scopes: Sequence[str], limit: int = 10) -> MemoryList:
    """Decisions, corrections and preferences that hold and apply to *text*, narrowest scope first.

    Those that fit it, and those in the chains of other memories that fit; `through` names the
    memory by way of which one was found.

    Raises:
        MemoryInvalidError: One of the scopes is none.
        MemoryStoreError: The store cannot be used.
        RetrievalError: The index cannot be used.
    """
    wanted = [str(Scope.parse(scope)) for scope in scopes]
    with HomeMemory.open(home) as memory:
        view = memory.view
        (found,) = memory.find((text,), wanted or view.scopes(), limit=CONSTRAINTS_LOOKED_AT)
        rows: dict[str, MemoryRow] = {}
        for row in _found(found).memories:
            if row.kind in CONSTRAINING:
                rows.setdefault(row.id, row)
                continue
            chain = view.chain(row.id, wanted)
            for node in chain.current:
                if node.kind in CONSTRAINING and node.id not in rows:
                    joined = row_of(node, chain.states[node.id])
                    rows[node.id] = replace(joined, score=row.score, through=row.id)
    order = sorted(rows.values(), key=lambda r: (Scope.parse(r.scope).precedence, -r.score, r.id))
    shown = with_overruled(home, order[:limit], scopes)
    return MemoryList(memories=shown, position=found.position, notes=list(found.notes))


def with_overruled(
    home: Home, rows: Sequence[MemoryRow], asked: Sequence[str] = ()
) -> list[MemoryRow]:
    """*rows*, where each says which directive overrules it.

    Args:
        home: Whose directives count, as they were where `home.as_of` says.
        rows: Nodes.
        asked: The scopes that were asked for; without, each row goes by its own and the user's.
    """
    with HomeLog.open(home) as source:
        ledgers = Ledgers(source.stream, source.blobs, source.vocabulary)
        by = ScopedOverruling(ledgers, asked).by
        return [replace(row, overruled_by=by(row.content, row.scope)) for row in rows]


def _meant(memory: HomeMemory, asked: str, *, words: bool) -> tuple[str, str]:
    """The node whose id begins with *asked*, or that fits it best as a text; and that text."""
    several = " " in asked.strip()
    try:
        return memory.view.resolve(asked), ""
    except MemoryMissingError as error:
        if not several and (not words or error.several):
            raise
    (found,) = memory.find((asked,), memory.view.scopes(), limit=1)
    if not found.hits:
        fits = "fits no memory: say it in other words"
        raise MemoryMissingError(asked, fits if several else f"begins no id, and {fits}")
    return found.hits[0].node.id, asked


def row_of(node: Node, state: NodeState) -> MemoryRow:
    """A node and how it stands, for a list."""
    return MemoryRow(
        id=node.id,
        kind=node.kind,
        scope=node.scope,
        since=iso(node.since_ns),
        by=node.by,
        content=node.content,
        standing=state.gone or ("replaced" if state.successors else "current"),
        pinned=state.pinned,
        uses=state.uses,
        position=node.position,
    )


def _details(memory: HomeMemory, chain: Chain, node_id: str) -> MemoryDetails:
    node = next(each for each in chain.nodes if each.id == node_id)
    left = chain.states[node_id].gone
    changes = reversed(memory.view.changes(node_id))
    _, _, by, why = next((each for each in changes if left and each[1] == left), (0, "", "", ""))
    return MemoryDetails(
        origin=node.origin,
        confidence=node.confidence,
        entities=node.entities,
        source=node.source,
        quote=node.quote,
        again=[
            {"time": iso(e.time_ns), "by": e.by, "source": e.source, "quote": e.quote}
            for e in memory.view.said_again(node_id)
        ],
        left=left,
        left_by=by,
        left_why=why,
    )


def _found(found: MemoryResult) -> MemoryList:
    rows = [
        replace(
            row_of(hit.node, hit.state),
            score=hit.score,
            why=hit.why,
            through=hit.through,
            contradicted_by=hit.contradicted_by,
        )
        for hit in found.hits
    ]
    notes = [*found.notes, *((found.caution,) if found.caution else ())]
    return MemoryList(
        memories=rows,
        position=found.position,
        certainty=found.certainty,
        answers=found.answers,
        notes=notes,
        chain=fact_chain_document(found.chain),
    )


def _walked(chain: Chain, start: str, rows: dict[str, MemoryRow], direction: str) -> list[ChainRow]:
    steps = walk(start, chain.edges, "forward" if direction == "forward" else "backward")
    return [ChainRow(depth=s.depth, said=s.said, memory=rows[s.node_id]) for s in steps]
