"""Finds nodes by words, meaning and edges; published scores, each with its parts.

`runtime/retrieval` finds the statements. What edges know is added to its score:

    score = found x belief x freshness + (entity + dated + edges) x belief

* **replaced**: a hit that was replaced counts for what replaced it, at `REPLACED` of its score. It
  is left out, unless the history was asked for: then it comes below what replaced it.
* **belief**: `BELIEF_FLOOR` and the rest by confidence: what is doubtful comes later.
* **freshness**: 1 for what was recorded or used now, down to 0.9; what is used often gets there
  later (`fading`). Nothing is left out by its age.
* **entity**: nodes about an entity that the question names, found by its words or not, gain
  `ENTITY`.
* **dated**: nodes of a time that the question names gain `DATED` of their score. The newest of that
  time are found without any of its words, with little.
* **moved**: of two hits that say of one thing what it is, the newer one comes first, though no edge
  joins them; both have another place, and the score of that place.
* **edges**: nodes that edges join to the best hits get `LINKED` of their score; what contradicts a
  hit comes with it, at `CONTRADICTS`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from cortex.bus.events import EdgeType
from cortex.runtime.retrieval import Embedder, Passage, RecordFinder

from .chains import NodeState
from .fading import freshness
from .following import FactChain, FactFollower
from .nodes import Edge, Node, NodeFilter
from .side_by_side import PERSON, ids_of, layout, record_of, topic_of
from .updates import Hit, Statement, answerable, order_current
from .view import MemoryView
from .widening import NOTHING, Widening, widened

KIND: Final = "memory"  # name of the index in `vectors/`
REPLACED: Final = 0.95
BELIEF_FLOOR: Final = 0.5
ENTITY: Final = 0.2
DATED: Final = 0.2
LEAST_DATED: Final = 0.25  # the score of a node that its time alone has found
LINKED: Final[Mapping[EdgeType, float]] = {
    "refines": 0.5,
    "caused_by": 0.4,
    "led_to": 0.4,
    "contradicts": 0.0,  # see `CONTRADICTS`
    "supersedes": 0.0,  # what replaced a hit is in its place
}
CONTRADICTS: Final = 0.9
SPREADING: Final = 10  # best hits whose edges count
LOOKED_AT: Final = 5  # times as many hits as were asked for: some will be of one chain
MOST_BESIDE: Final = 40  # but no more than so many beside those
GAINS: Final = ("entity", "dated", "edges")  # parts of a score beside that of its words
DAY_NS: Final = 86_400 * 10**9


class MemoryHit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A node that was found."""

    node: Node
    state: NodeState
    score: float  # 1 is the best by words and meaning; edges may add to it
    why: dict[str, float]  # the parts of the score
    through: str = ""  # id of the hit that led to it; "" if it was found itself
    contradicted_by: tuple[str, ...] = ()  # ids of current nodes that say otherwise
    overruled_by: str = ""  # the directive that says otherwise, quoted


class MemoryResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, best first."""

    hits: tuple[MemoryHit, ...]
    position: int  # of the log, that it holds for
    certainty: float = 0.0  # from 0 to 1, that they answer, as the search sees it
    # From 0 to 1, that memory has an answer at all: by what it knows of the question's words.
    answers: float = 0.0
    caution: str = ""  # what to say above them, or in their place; "" if they are certain
    notes: tuple[str, ...] = ()
    chain: FactChain | None = None  # facts that answer only together; None if that is not sure


class MemoryFinder:
    """Finds nodes of one store; its index follows a `MemoryView`. One thread at a time."""

    def __init__(self, records: RecordFinder, embedder: Embedder | None = None) -> None:
        self._records, self._follower = records, FactFollower(embedder)
        self._through: int | None = None  # position that the index has; None: not known yet

    @classmethod
    def open(cls, home: Path, embedder: Embedder | None) -> "MemoryFinder":
        """The index in the home at *home*.

        Raises:
            StoreDiskError: Its file cannot be made or read.
        """
        return cls(RecordFinder.open(home, KIND, embedder), embedder)

    def close(self) -> None:
        """Close the index."""
        self._records.__exit__(None, None, None)

    def update(self, view: MemoryView) -> tuple[str, ...]:
        """Bring the index to the position of *view*; notes on what was not as it should be.

        Raises:
            StoreDiskError: The disk did not take it.
        """
        through, self._through = self._through, None  # after an error the store is looked through
        if through is not None and through <= view.position:
            touched = view.touched(through)
            if not touched:
                self._through = view.position
                return ()
            known: Mapping[str, str] | None = None
        else:
            touched, known = view.touched(0), self._records.stamps()
        blocks, stale = layout(view, view.nodes(touched).values())
        held = [each for block in blocks for each in block.lines]
        nodes, states = view.nodes(held), view.states(held)
        records = {block.key: record_of(block, nodes, states) for block in blocks}
        stamps = dict.fromkeys((*records, *stale), "") if known is None else known
        notes = self._records.update(
            (r for r in records.values() if r is not None and stamps.get(r.key) != r.stamp),
            [each for each in stamps if records.get(each) is None],
        )
        self._through = view.position
        return notes

    def find(
        self,
        question: str,
        view: MemoryView,
        scopes: Sequence[str],
        *,
        history: bool = False,
        limit: int = 10,
        now_ns: int = 0,
        asked_ns: int = 0,
        thorough: bool = True,
        subject: str | None = None,
    ) -> MemoryResult:
        """The nodes of *scopes* that have most to do with *question*.

        Args:
            question: In natural language.
            view: Memory; the index must be at its position.
            scopes: That are searched.
            history: Whether what was replaced comes back, too, each with its own score.
            limit: Most nodes.
            now_ns: UTC nanoseconds from which freshness is measured; 0: from the newest hit.
            asked_ns: When it is asked, for "last week"; 0: when the newest node was recorded.
            thorough: Whether facts that answer only together are looked for in a large memory,
                too, which takes a second.
            subject: Who may be the subject of a node, beside nobody; None for everybody.
        """
        under = [topic_of(scope) for scope in scopes]
        through, self._through = self._through, None  # as in `update`
        most = limit + min(limit * (LOOKED_AT - 1), MOST_BESIDE)
        found = self._records.find(question, most, under, PERSON, texts=False)
        self._through = through
        wider = widened(question, view, scopes, asked_ns)
        if not found.passages:  # what it names is not known, or is all that is known of it
            wider = wider._replace(named=())
        seen = NodeFilter(frozenset(scopes), subject)
        spread = _Spread(view, seen, history=history)
        ranked = spread.ranked(found.passages, now_ns, wider)
        order = ranked if history else _current_first(question, ranked)
        hits = [
            spread.hit(each, place)
            for each, place in zip(order[:limit], ranked[:limit], strict=True)
        ]
        return MemoryResult(
            hits=tuple(hits),
            position=view.position,
            certainty=found.certainty,
            answers=answerable(question, found.known),
            caution=found.caution if found.passages or not hits else "",
            notes=found.notes,
            chain=None if history else self._chain(question, view, seen, thorough=thorough),
        )

    def _chain(
        self, question: str, view: MemoryView, seen: NodeFilter, *, thorough: bool
    ) -> FactChain | None:
        under = [topic_of(scope) for scope in sorted(seen.scopes)]

        def search(text: str, limit: int) -> list[str]:
            return ids_of(view, self._records.find(text, limit, under, texts=False).passages)

        return self._follower.follow(question, view, seen, search if thorough else None)


def _current_first(question: str, ranked: Sequence["_Ranked"]) -> list["_Ranked"]:
    """*ranked*, the newer of two that say of one thing what it is above the older one."""
    by_id = {each.node.id: each for each in ranked}
    given = [Hit(_statement(each.node), each.score) for each in ranked]
    return [by_id[each.statement.id] for each in order_current(question, given)]


def _statement(node: Node) -> Statement:
    return Statement(node.id, node.content, node.since_ns, node.by, node.kind)


class _Candidate(msgspec.Struct, gc=False):
    score: float
    why: dict[str, float]
    through: str = ""

    @property
    def reach(self) -> float:
        """How much of it goes along its edges."""
        return self.score + self.why.get("entity", 0.0)


class _Ranked(NamedTuple):
    node: Node
    score: float
    belief: float
    fresh: float


class _Spread:
    """Follows edges from what was found."""

    def __init__(self, view: MemoryView, seen: NodeFilter, *, history: bool) -> None:
        self._view, self._seen, self._history = view, seen, history
        self._found: dict[str, _Candidate] = {}
        self._nodes: dict[str, Node] = {}
        self._states: dict[str, NodeState] = {}
        self._against: dict[str, list[str]] = {}  # what contradicts what, by node

    def ranked(
        self, passages: Sequence[Passage], now_ns: int, wider: Widening = NOTHING
    ) -> list[_Ranked]:
        ids = ids_of(self._view, passages)
        self._read(ids)
        self._read_successors()
        for each, passage in zip(ids, passages, strict=True):
            if each in self._nodes:
                self._take(each, passage.score, dict(passage.why))
        self._widen(wider.named, "entity", ENTITY)
        best = sorted(self._found, key=lambda each: -self._found[each].reach)[:SPREADING]
        edges = self._view.edges(best)
        self._read([each for edge in edges for each in (edge.node_id, edge.to)])
        self._follow(edges, best)
        self._widen(wider.dated, "dated", 0.0)
        self._date(wider)
        newest = max((self._touched_ns(each) for each in self._found), default=0)
        ranked = [self._ranked(each, now_ns or newest) for each in self._found]
        return sorted(ranked, key=lambda each: (-each.score, -each.node.position, each.node.id))

    def hit(self, ranked: _Ranked, place: _Ranked) -> MemoryHit:
        """What was *ranked*, with the score of the *place* that it has in the end."""
        node_id = ranked.node.id
        found = self._found[node_id]
        weighed = {"belief": round(ranked.belief, 4), "freshness": round(ranked.fresh, 4)}
        return MemoryHit(
            node=ranked.node,
            state=self._states[node_id],
            score=place.score,
            why=found.why | weighed | ({} if place is ranked else {"moved": 1.0}),
            through=found.through,
            contradicted_by=tuple(self._against.get(node_id, ())),
        )

    def _widen(self, ids: Sequence[str], part: str, gain: float) -> None:
        """What is found without words; what was found already gains as much."""
        self._read(ids)
        for each in ids:
            if each in self._found:
                self._found[each].why[part] = gain
            elif each in self._nodes:
                self._take(each, 0.0, {part: gain})

    def _date(self, wider: Widening) -> None:
        for each, found in self._found.items():
            if wider.is_dated(self._nodes[each].since_ns):
                found.why["dated"] = round(DATED * max(found.score, LEAST_DATED), 4)

    def _read(self, ids: Sequence[str]) -> None:
        fresh = [each for each in dict.fromkeys(ids) if each not in self._nodes]
        if not fresh:
            return
        nodes = self._view.nodes(fresh)
        seen = {each: node for each, node in nodes.items() if self._seen.has(node)}
        self._nodes |= seen
        self._states |= self._view.states(list(seen))

    def _read_successors(self) -> None:
        """What replaced the nodes that were read, all of one step together."""
        fresh = list(self._states)
        while fresh:
            before = len(self._states)
            self._read([to for each in fresh for to in self._states[each].successors])
            fresh = list(self._states)[before:]

    def _take(self, node_id: str, score: float, why: dict[str, float], through: str = "") -> None:
        """A node that was found, or what replaced it."""
        state = self._states[node_id]
        if state.gone:
            return
        if state.successors:
            for head in self._heads(node_id):
                replaced = {**why, "replaced": REPLACED}
                self._keep(head, score * REPLACED, replaced, through or node_id)
            if not self._history:
                return
            # What replaced it stands above it.
            score = round(score * REPLACED * REPLACED, 4)
        self._keep(node_id, score, why, through)

    def _heads(self, node_id: str) -> list[str]:
        """What is current of all that replaced a node, as far as it is seen."""
        seen, open_, heads = {node_id}, [node_id], list[str]()
        while open_:
            self._read(open_)
            fresh: list[str] = []
            for each in open_:
                state = self._states.get(each)
                if state is None:
                    continue
                if state.current:
                    heads.append(each)
                fresh += [other for other in state.successors if other not in seen]
                seen.update(fresh)
            open_ = fresh
        return heads

    def _keep(self, node_id: str, score: float, why: dict[str, float], through: str) -> None:
        before = self._found.get(node_id)
        if before is None or before.score < score:
            self._found[node_id] = _Candidate(score, why, through)

    def _follow(self, edges: Sequence[Edge], best: Sequence[str]) -> None:
        """Add what edges join to the best hits."""
        scores = {each: self._found[each].reach for each in best}
        for edge in edges:
            pairs = ((edge.node_id, edge.to), (edge.to, edge.node_id))
            if edge.edge == "contradicts" and all(map(self._is_current, pairs[0])):
                for one, other in pairs:
                    self._against.setdefault(one, []).append(other)
            share = CONTRADICTS if edge.edge == "contradicts" else LINKED[edge.edge]
            for at, to in pairs:
                if share and at in scores and self._is_current(to):
                    gained = round(scores[at] * share, 4)
                    if to in self._found:
                        why = self._found[to].why
                        why["edges"] = max(why.get("edges", 0.0), gained)
                    else:
                        self._keep(to, 0.0, {"edges": gained}, at)

    def _is_current(self, node_id: str) -> bool:
        state = self._states.get(node_id)
        return state is not None and state.current

    def _touched_ns(self, node_id: str) -> int:
        return max(self._nodes[node_id].since_ns, self._states[node_id].used_ns)

    def _ranked(self, node_id: str, now_ns: int) -> _Ranked:
        found, node = self._found[node_id], self._nodes[node_id]
        belief = BELIEF_FLOOR + (1 - BELIEF_FLOOR) * node.confidence
        days = (now_ns - self._touched_ns(node_id)) / DAY_NS
        fresh = freshness(days, self._states[node_id].uses)
        gained = sum(found.why.get(part, 0.0) for part in GAINS)
        score = found.score * belief * fresh + gained * belief
        return _Ranked(node, round(score, 4), belief, fresh)
