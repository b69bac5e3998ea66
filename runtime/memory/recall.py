"""What a step remembers: the nodes found for its texts, as they are stored for its prompt."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from cortex.bus.events import Kind, Origin
from cortex.runtime.retrieval import TOKENS, packed

from .nodes import Node
from .rewording import worded

if TYPE_CHECKING:  # numpy and faiss take their time to load
    from .finding import MemoryHit, MemoryResult

MOST: Final = 100  # nodes, however short they are


class RecalledNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node as the prompt of a step shows it."""

    id: str
    kind: Kind
    content: str
    scope: str
    origin: Origin
    position: int  # of the event that recorded it
    since_ns: int  # since when it is so
    score: float
    why: dict[str, float]
    confidence: float = 1.0
    current: bool = True  # False: it was replaced, and the step asked for the history
    through: str = ""  # id of the hit that led to it
    contradicted_by: tuple[str, ...] = ()
    overruled_by: str = ""  # the directive that says otherwise, quoted

    # A memory is one line of its own file, so that `packed` counts it alone.
    @property
    def path(self) -> str:
        """Its id."""
        return self.id

    @property
    def heading(self) -> str:
        """None."""
        return ""

    @property
    def first_line(self) -> int:
        """The only one."""
        return 1

    @property
    def text(self) -> str:
        """The line that a model sees."""
        return line_of(self)


class RecalledPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A package in place of some of the nodes that were found."""

    package_id: str
    digest: str  # of the blob with the text
    text: str
    position: int  # of the event that it was compiled with
    score: float  # of the best of these nodes
    confidence: float  # of the least certain of them
    nodes: tuple[str, ...]  # ids of all nodes in its text
    covers: tuple[str, ...]  # ids of those that were found
    tokens: int  # of the text
    instead_of: int  # tokens of those that were found, one by one


class RecalledNodes(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found for a step, best first."""

    nodes: tuple[RecalledNode, ...]  # without those that are in packages
    position: int  # of the log, that they hold for
    caution: str = ""
    notes: tuple[str, ...] = ()
    packages: tuple[RecalledPackage, ...] = ()


def recalled(
    results: "Sequence[MemoryResult]", limit: int, tokens: int | None = None
) -> RecalledNodes:
    """The best of what several texts found, each node once, at most *limit* and *tokens*.

    Facts that answer a text only together come first, in their order.

    *tokens* are estimated; None is the default of all retrieval.
    """
    best: dict[str, MemoryHit] = {}
    for hit in (hit for result in results for hit in result.hits):
        if hit.node.id not in best or best[hit.node.id].score < hit.score:
            best[hit.node.id] = hit
    for hit in list(best.values()):
        if hit.node.form == "wording":  # it has all facts of the summary
            best.pop(worded(hit.node.source), None)
    order = sorted(best.values(), key=lambda hit: (-hit.score, hit.node.position, hit.node.id))
    chained = {node.id: node for result in results for node in _chained(result)}
    others = (_recalled(hit) for hit in order if hit.node.id not in chained)
    first = islice(chain(chained.values(), others), min(limit, MOST))
    nodes = packed(first, TOKENS if tokens is None else tokens)
    certain = max(results, key=lambda each: each.certainty, default=None)
    return RecalledNodes(
        nodes=tuple(nodes),
        position=max((result.position for result in results), default=0),
        caution=certain.caution if certain is not None else "",
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
    )


def line_of(node: RecalledNode) -> str:
    """A node in one line: when, what kind, who says so, what."""
    return node_line(
        node,
        current=node.current,
        contradicted_by=node.contradicted_by,
        overruled_by=node.overruled_by,
    )


def node_line(
    node: RecalledNode | Node,
    *,
    current: bool,
    contradicted_by: Sequence[str] = (),
    overruled_by: str = "",
) -> str:
    """A node that stands so, as `line_of`."""
    marks: list[str] = [node.kind]
    if node.origin == "model":
        marks.append("said by a model")
    if not current:
        marks.append("replaced since")
    if contradicted_by:
        marks.append("contradicted by " + ", ".join(contradicted_by))
    if overruled_by:
        marks.append(f"overruled by {overruled_by}")
    # One line, or the second one of what a model says could read as what a person decided.
    said = " ".join(map(str.strip, node.content.splitlines()))
    return f"[{node.id}, {day_of(node.since_ns)}, {', '.join(marks)}] {said}"


def day_of(time_ns: int) -> str:
    """The day of a time, UTC."""
    return datetime.fromtimestamp(time_ns / 1e9, UTC).date().isoformat()


def _chained(result: "MemoryResult") -> Iterator[RecalledNode]:
    """The facts of a result's chain; each leads to the next."""
    before = ""
    for step in result.chain.steps if result.chain else ():
        found = next((hit for hit in result.hits if hit.node.id == step.node.id), None)
        certain = result.chain.certainty if result.chain else 0.0
        node = _shown(step.node)
        why = {**(found.why if found else {}), "chain": certain}
        against = found.contradicted_by if found else ()
        yield replace(node, score=certain, why=why, through=before, contradicted_by=against)
        before = step.node.id


def _recalled(hit: "MemoryHit") -> RecalledNode:
    return replace(
        _shown(hit.node),
        score=hit.score,
        why=hit.why,
        current=hit.state.current,
        through=hit.through,
        contradicted_by=hit.contradicted_by,
    )


def _shown(node: "Node") -> RecalledNode:
    return RecalledNode(
        id=node.id,
        kind=node.kind,
        content=node.content,
        scope=node.scope,
        origin=node.origin,
        position=node.position,
        since_ns=node.since_ns,
        score=0.0,
        why={},
        confidence=node.confidence,
    )
