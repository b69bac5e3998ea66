"""The text of a package: what its chains hold now, how that came to be, and what it replaced. Pure.

    memory that holds:
    1 2026-11-29 correction: We use Postgres for billing
    2 2026-11-20 observation: Billing lost rows twice in May
    came about: 2 led to 1
    no longer true:
    3 2026-11-01 decision, replaced by 1: We use MySQL for billing

The numbers are places in `sources` and, behind them, `replaced`. The text is encoded as CTX:
`decode` gives it back. A prompt that asks for no history has the text without what was replaced,
which also leaves out how that was joined to the rest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from cortex.bus.events import EdgeType
from cortex.runtime.ctx import Counter, encode

from .chains import Chain
from .nodes import Edge, Node
from .package_reading import HOLDS, REPLACED
from .recall import day_of, node_line

COUNTED_IN: Final = "o200k_base"  # the encoding in which sizes of packages are counted
# Prose reads worse with a legend, and a provider that quotes passages would quote its names.
LEGEND_SAVES: Final = 0.25  # of the tokens, at least, or there is none
HOW: Final = "came about: "
# What an edge says, and whether its ends change places: `A caused_by B` is "B led to A".
_SAID: Final[Mapping[EdgeType, tuple[str, bool]]] = {
    "led_to": ("led to", False),
    "caused_by": ("led to", True),
    "refines": ("refines", False),
    "contradicts": ("contradicts", False),
}


class PackageText(msgspec.Struct, frozen=True, kw_only=True):
    """What a package says, and from what it is; the texts are empty if nothing is current."""

    sources: tuple[str, ...]  # ids of current nodes, in the order of their numbers
    replaced: tuple[str, ...]  # ids of replaced ones, behind them
    beside: tuple[str, ...]  # ids of what the chains have beside these
    text: str = ""
    tokens: int = 0
    current_text: str = ""  # without what was replaced
    current_tokens: int = 0
    raw_tokens: int = 0  # of the nodes as prompts show them one by one


class _Shown:
    """The nodes that a package shows, of chains that may share some."""

    def __init__(self, chains: Iterable[Chain], scope: str, subject: str) -> None:
        self.current: dict[str, Node] = {}
        self.replaced: dict[str, Node] = {}
        self.beside: dict[str, None] = {}
        self.edges: dict[tuple[str, str, str], Edge] = {}
        self.successors: dict[str, tuple[str, ...]] = {}
        for chain in chains:
            for node in reversed(chain.nodes):
                state = chain.states[node.id]
                if state.gone or node.scope != scope or node.subject != subject:
                    self.beside[node.id] = None
                elif state.current:
                    self.current[node.id] = node
                else:
                    self.replaced[node.id] = node
                    self.successors[node.id] = state.successors
            self.edges |= {(e.node_id, e.edge, e.to): e for e in chain.edges}
        self.number = {each: n for n, each in enumerate((*self.current, *self.replaced), 1)}

    def contradicting(self, node_id: str) -> tuple[str, ...]:
        """Current nodes that contradict a current one."""
        found = (
            edge.to if edge.node_id == node_id else edge.node_id
            for edge in self.edges.values()
            if edge.edge == "contradicts" and node_id in (edge.node_id, edge.to)
        )
        return tuple(each for each in found if each in self.current)


def package_text(
    chains: Sequence[Chain], scope: str, subject: str, counter: Counter
) -> PackageText:
    """The text of the nodes of *scope* and *subject* in *chains*.

    Args:
        chains: As they are at one position.
        scope: Of the nodes that are shown.
        subject: Id of whose personal data they are; "" for nobody's.
        counter: Counts the tokens.
    """
    shown = _Shown(chains, scope, subject)
    made = PackageText(
        sources=tuple(shown.current), replaced=tuple(shown.replaced), beside=tuple(shown.beside)
    )
    if not shown.current:
        return made
    now = whole = _encoded("\n".join(_lines(shown, shown.current)), counter)
    if shown.replaced:
        whole = _encoded("\n".join(_lines(shown, shown.number)), counter)
    return msgspec.structs.replace(
        made,
        text=whole,
        tokens=counter.count(whole),
        current_text=now,
        current_tokens=counter.count(now),
        raw_tokens=counter.count("\n".join(_raw(shown))),
    )


def _encoded(text: str, counter: Counter) -> str:
    """*text* as CTX: unchanged, unless names for what it repeats save a lot."""
    package = encode(text, "text", counter=counter)
    return package.text if package.tokens <= (1 - LEGEND_SAVES) * counter.count(text) else text


def _lines(shown: _Shown, among: Iterable[str]) -> Iterator[str]:
    """The text of the nodes *among* those that are shown."""
    seen = frozenset(among)
    yield HOLDS
    for node in shown.current.values():
        yield _line(shown.number[node.id], node)
    if how := "; ".join(_relations(shown, seen)):
        yield HOW + how
    if not seen.isdisjoint(shown.replaced):
        yield REPLACED
        for node in shown.replaced.values():
            numbers = [shown.number[e] for e in shown.successors[node.id] if e in shown.number]
            by = f", replaced by {', '.join(map(str, sorted(numbers)))}" if numbers else ""
            yield _line(shown.number[node.id], node, by)


def _line(number: int, node: Node, by: str = "") -> str:
    said = ", said by a model" if node.origin == "model" else ""
    # A statement of several lines cannot be taken for several numbered ones.
    content = "\n  ".join(node.content.splitlines())
    return f"{number} {day_of(node.since_ns)} {node.kind}{said}{by}: {content}"


def _relations(shown: _Shown, seen: frozenset[str]) -> Iterator[str]:
    order = sorted(shown.edges.values(), key=lambda e: (e.position, e.node_id, e.edge, e.to))
    told: set[str] = set()
    for edge in order:
        if edge.edge == "supersedes" or not seen.issuperset((edge.node_id, edge.to)):
            continue
        said, turned = _SAID[edge.edge]
        ends = (edge.to, edge.node_id) if turned else (edge.node_id, edge.to)
        sentence = f"{shown.number[ends[0]]} {said} {shown.number[ends[1]]}"
        if sentence not in told:
            told.add(sentence)
            yield sentence


def _raw(shown: _Shown) -> Iterator[str]:
    for node in shown.current.values():
        yield node_line(node, current=True, contradicted_by=shown.contradicting(node.id))
    for node in shown.replaced.values():
        yield node_line(node, current=False)
