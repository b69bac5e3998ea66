"""Chains: what is believed now, why, and what came of it; defined by edges alone. Pure.

A chain is all nodes that edges join. Of a chain

* **current** is each node in memory that no node supersedes. Once superseded is superseded: that
  the successor was forgotten or collected does not bring the older one back. Only the undoing of a
  consolidation takes its edges away.
* **contradictions** are pairs of current nodes with a `contradicts` edge: both are shown.
* **belief** in a node is `1 - (1 - confidence) ** sources`, halved for each current node that
  contradicts it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from cortex.bus.events import EdgeType

from .nodes import Edge, Node

Direction: TypeAlias = Literal["forward", "backward"]
MOST_NODES: Final = 2_000  # of a chain that is read; a longer one says so
# Which way an edge leads to what came later: along it, or against it.
LATER: Final[Mapping[EdgeType, Literal["along", "against"]]] = {
    "led_to": "along",
    "caused_by": "against",
    "supersedes": "against",
    "refines": "against",
    "contradicts": "against",
}
SAID: Final[Mapping[tuple[EdgeType, Direction], str]] = {
    ("led_to", "forward"): "led to",
    ("caused_by", "forward"): "led to",
    ("supersedes", "forward"): "was replaced by",
    ("refines", "forward"): "was refined by",
    ("contradicts", "forward"): "was contradicted by",
    ("led_to", "backward"): "because of",
    ("caused_by", "backward"): "because of",
    ("supersedes", "backward"): "in place of",
    ("refines", "backward"): "refines",
    ("contradicts", "backward"): "contradicts",
}
EdgesOf: TypeAlias = Callable[[Sequence[str]], Iterable[Edge]]  # all that touch one of these nodes


class NodeState(msgspec.Struct, frozen=True, gc=False):
    """How a node stands at a position."""

    gone: str = ""  # "forgotten", "collected" or "undone"; "" while it is in memory
    successors: tuple[str, ...] = ()  # ids of what replaced it
    pinned: bool = False
    sources: int = 1  # how often it was recorded
    uses: int = 0  # prompts that it was in
    used_ns: int = 0  # time of the last of them; 0 for none

    @property
    def current(self) -> bool:
        """Whether it is in memory, and nothing replaced it."""
        return not self.gone and not self.successors


class Chain(msgspec.Struct, frozen=True):
    """All nodes that edges join, oldest first."""

    id: str  # of its oldest node
    nodes: tuple[Node, ...]
    states: dict[str, NodeState]
    edges: tuple[Edge, ...]
    whole: bool = True  # False: it has more than `MOST_NODES`

    @property
    def current(self) -> tuple[Node, ...]:
        """What is believed now, newest first."""
        return tuple(node for node in reversed(self.nodes) if self.states[node.id].current)

    @property
    def contradictions(self) -> tuple[tuple[str, str], ...]:
        """Pairs of current nodes that contradict each other."""
        return tuple(
            (edge.node_id, edge.to)
            for edge in self.edges
            if edge.edge == "contradicts" and self._both_current(edge)
        )

    def belief(self, node: Node) -> float:
        """How far a node is believed, from 0 to 1; 0 if it is not current."""
        state = self.states[node.id]
        if not state.current:
            return 0.0
        against = sum(node.id in pair for pair in self.contradictions)
        believed: float = (1 - (1 - node.confidence) ** state.sources) * 0.5**against
        return believed

    def _both_current(self, edge: Edge) -> bool:
        states = (self.states.get(edge.node_id), self.states.get(edge.to))
        return all(state is not None and state.current for state in states)


class ChainStep(NamedTuple):
    """One step of a walk along a chain."""

    depth: int  # from 0 for where it begins
    node_id: str
    said: str  # "led to", "in place of", ...; "" where it begins
    of: str  # the node that the words join it to


def joined(
    start: str, edges_of: EdgesOf, most: int = MOST_NODES
) -> tuple[list[str], list[Edge], bool]:
    """The ids of at most *most* nodes that edges join to *start*, those edges, and if it is all."""
    seen, edges = {start: None}, dict[tuple[str, str, str], Edge]()
    fresh, whole = [start], True
    while fresh:
        found: dict[str, None] = {}
        for edge in edges_of(fresh):
            edges[edge.node_id, edge.edge, edge.to] = edge
            found |= dict.fromkeys(each for each in (edge.node_id, edge.to) if each not in seen)
        fresh = list(found)[: most - len(seen)]
        seen |= dict.fromkeys(fresh)
        whole = whole and len(fresh) == len(found)
    kept = [edge for edge in edges.values() if edge.node_id in seen and edge.to in seen]
    return list(seen), kept, whole


def walk(start: str, edges: Sequence[Edge], direction: Direction) -> Iterator[ChainStep]:
    """What came of *start* ("forward"), or what it rests on ("backward"), each node once.

    In depth order: what a node led to stands right below it.
    """
    steps: dict[str, list[tuple[str, str]]] = {}
    for edge in sorted(edges, key=lambda each: (each.position, each.node_id, each.to)):
        along = (LATER[edge.edge] == "along") == (direction == "forward")
        at, to = (edge.node_id, edge.to) if along else (edge.to, edge.node_id)
        steps.setdefault(at, []).append((to, SAID[edge.edge, direction]))
    seen, open_ = {start}, deque([ChainStep(0, start, "", "")])
    while open_:
        step = open_.popleft()
        yield step
        fresh = [(to, said) for to, said in steps.get(step.node_id, ()) if to not in seen]
        seen.update(to for to, _ in fresh)
        below = [ChainStep(step.depth + 1, to, said, step.node_id) for to, said in fresh]
        open_.extendleft(reversed(below))


def history_of(node_id: str, edges: Sequence[Edge]) -> list[str]:
    """What *node_id* replaced, and what that replaced, and so on; itself first, each once."""
    older: dict[str, list[str]] = {}
    for edge in sorted(edges, key=lambda each: (-each.position, each.to)):
        if edge.edge == "supersedes":
            older.setdefault(edge.node_id, []).append(edge.to)
    found, open_ = {node_id: None}, deque([node_id])
    while open_:
        fresh = [each for each in older.get(open_.popleft(), ()) if each not in found]
        found |= dict.fromkeys(fresh)
        open_ += fresh
    return list(found)
