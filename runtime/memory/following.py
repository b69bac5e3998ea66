"""Answers a question by several facts that lead from one to the next, or says nothing.

"Who leads the team that owns billing?" has its answer in no memory: one says which team owns
billing, another who leads that team. `updates.Facts` follows such facts. They are current
statements of the scopes that are one brief sentence, not in the first person, and not said by a
model. A chain is shown if it has two facts or more, is as certain as `CERTAIN`, and each of its
facts says `SAYS` of the words that it answers. On generated facts 136 of 138 chains so shown were
right; of 695 questions about two sets of conversations, which no such chain answers, none was given
one.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from cortex.runtime.retrieval import Embedder, StaticEmbedder, names_in

from .nodes import Node, NodeFilter
from .rows import NODE, in_scopes, node_of_row
from .rules import execution_of
from .updates import Chain, Facts, Statement, asks_for_past, is_fact
from .view import MemoryView

CERTAIN: Final = 0.7
SAYS: Final = 0.8
FEWEST: Final = 2  # facts; one is a hit like others
LONGEST: Final = 200  # characters of a fact
MOST_WHOLE: Final = 2_000  # facts that are read together; of more, those near the question
NEAR: Final = 40  # hits for one thing
MOST_THINGS: Final = 12  # that are looked for at each distance from the question
HOPS: Final = 3  # distances

# The ids of the best memories for a text, at most so many.
Search = Callable[[str, int], Sequence[str]]


class FactStep(msgspec.Struct, frozen=True, kw_only=True):
    """One fact of a chain."""

    node: Node
    thing: str  # from which it leads
    leads_to: str
    asked: str  # the words of the question that it answers


class FactChain(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that lead from what a question names to its answer."""

    steps: tuple[FactStep, ...]
    answer: str
    certainty: float  # from 0 to 1


class FactFollower:
    """Follows facts of one store; those that it read last are kept."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        # Words are compared one by one: no model is asked for each of them.
        self._embedder = embedder if isinstance(embedder, StaticEmbedder) else None
        self._kept: tuple[dict[str, Node], Facts] | None = None  # None: they are too many
        self._read: tuple[object, ...] | None = None  # what `_kept` is of
        self._at: tuple[NodeFilter, int] | None = None  # for whom, and where, that was last so

    def follow(
        self, question: str, view: MemoryView, seen: NodeFilter, search: Search | None
    ) -> FactChain | None:
        """The chain that surely answers *question*; None if there is none, or none that is sure.

        Args:
            question: In natural language.
            view: Memory.
            seen: Which nodes are read.
            search: Finds what is near the question, where it is too much to read all; None to
                give up there.
        """
        if not names_in(question) or asks_for_past(question):
            return None
        kept = self._all(view, seen)
        if kept is None and search is not None:
            kept = self._facts(_near_facts(question, view, seen, search))
        if kept is None:
            return None
        nodes, facts = kept
        chain = facts.follow(question)
        if chain is None or not _is_sure(chain):
            return None
        return FactChain(
            steps=tuple(
                FactStep(
                    node=nodes[step.statement.id],
                    thing=step.thing,
                    leads_to=step.leads_to,
                    asked=step.asked,
                )
                for step in chain.steps
            ),
            answer=chain.answer,
            certainty=chain.certainty,
        )

    def _all(self, view: MemoryView, seen: NodeFilter) -> tuple[dict[str, Node], Facts] | None:
        """All facts that are *seen*, read once for one state of memory; None: they are too many."""
        if (seen, view.position) != self._at:
            read = (seen, *_sizes(view))
            if read != self._read:
                nodes = _all_facts(view, seen)
                self._kept = None if nodes is None else self._facts(nodes)
            self._read, self._at = read, (seen, view.position)
        return self._kept

    def _facts(self, nodes: dict[str, Node]) -> tuple[dict[str, Node], Facts]:
        return nodes, Facts([_statement(node) for node in nodes.values()], self._embedder)


def _sizes(view: MemoryView) -> list[tuple[int, int]]:
    """How many rows memory has, and the position of the last, by table; equal as long as it is.

    What is added, joined or left is a row more of one of these tables; what is erased, a row less.
    """
    return [
        view.query(
            f"select count(*), coalesce(max(position), 0) from {table} where position <= ?",  # noqa: S608  # names of ours; what comes from outside is bound
            (view.position,),
        )[0]
        for table in ("memory_nodes", "memory_edges", "memory_changes")
    ]


def _is_sure(chain: Chain) -> bool:
    ids = {step.statement.id for step in chain.steps}
    return (
        len(ids) == len(chain.steps) >= FEWEST
        and chain.certainty >= CERTAIN
        and all(step.likeness >= SAYS for step in chain.steps)
    )


def _statement(node: Node) -> Statement:
    return Statement(node.id, node.content, node.since_ns, node.by, node.kind)


def _all_facts(view: MemoryView, seen: NodeFilter) -> dict[str, Node] | None:
    """All facts that are *seen*, oldest first; None if they are too many."""
    where, values = in_scopes(sorted(seen.scopes))
    rows = view.query(
        f"select {NODE} from memory_nodes where position <= ? {where} "  # noqa: S608  # names of ours; what comes from outside is bound
        "and length(content) between 1 and ? order by position, id limit ?",
        (view.position, *values, LONGEST, MOST_WHOLE + 1),
    )
    if len(rows) > MOST_WHOLE:
        return None
    return _facts_among(view, filter(seen.has, map(node_of_row, rows)))


def _near_facts(
    question: str, view: MemoryView, seen: NodeFilter, search: Search
) -> dict[str, Node]:
    """Facts about what the question names, about what those name, and so on."""
    found: dict[str, Node] = {}
    looked: set[str] = set()
    things = [question, *names_in(question).values()]
    for _ in range(HOPS + 1):
        ids = [each for thing in things for each in search(thing, NEAR) if each not in found]
        nodes = view.nodes(list(dict.fromkeys(ids))).values()
        brief = (node for node in nodes if seen.has(node) and len(node.content) <= LONGEST)
        fresh = _facts_among(view, brief)
        found |= fresh
        looked.update(things)
        named = [name for node in fresh.values() for name in names_in(node.content).values()]
        things = [name for name in dict.fromkeys(named) if name not in looked][:MOST_THINGS]
    return dict(sorted(found.items(), key=lambda item: (item[1].position, item[0])))


def _facts_among(view: MemoryView, nodes: Iterable[Node]) -> dict[str, Node]:
    """Those that are current statements; not what a model said or a consolidation wrote."""
    said = {
        node.id: node
        for node in nodes
        if node.origin != "model"
        and not node.consolidation_id
        and not execution_of(node.id)
        and is_fact(node.content)
    }
    states = view.states(list(said))
    return {each: node for each, node in said.items() if states[each].current}
