"""Consolidation: what was seen again and again becomes one memory that cites what it read. Pure.

Of each scope and subject apart, current observations, preferences and outcomes that say nearly the
same, and that no model said, are one cluster: those of whose content words two share `ALIKE`, with
the same numbers, and what these are alike to. Each statement is read once, and compared with what
was read before and is in no cluster yet, and with what is in clusters. A cluster of `FEWEST` or
more becomes an observation:

* its **representative**, the statement most like all others, unchanged, behind how often it was
  said; the others are its quote, each once, or the sentences that say most of them;
* an edge `refines` to each statement of it;
* the confidence of the least certain of them.

A cluster that has grown by `FEWEST` and by a tenth is written anew, and supersedes what was written
of it. Long chains become summaries, in the same way: see `summaries`. Nothing that was said is
replaced or deleted, and no model is asked. Equal states give equal nodes. When a statement that is
cited is replaced or forgotten, the `Decider` forgets what cites it, and the others are read again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from cortex.bus.events import Kind
from cortex.runtime.retrieval import content_words

from .past import Past, no_past
from .state import MemoryState
from .summaries import summaries
from .written import WrittenMemory, has_grown, quoted

ALIKE: Final = 0.6  # share of the words of two statements that both have
KINDS_READ: Final[frozenset[Kind]] = frozenset({"observation", "preference", "outcome"})
LOOKED_AT: Final = 50  # newest statements of a word that are compared
READ_BEFORE: Final = 10_000  # newest ones of a scope and subject that fresh ones are compared with
MOST_READ: Final = 5_000  # fresh statements; their ids are in one event
MOST_CITED: Final = 500  # by one memory; what is alike to so many begins a cluster of its own

Place = tuple[str, str]  # scope, subject


class Plan(NamedTuple):
    """What one consolidation writes."""

    written: tuple[WrittenMemory, ...]
    read: tuple[str, ...]  # ids of all statements that were read, in a cluster or not
    left: int  # statements that the budget leaves for the next one


def plan(state: MemoryState, scope: str, most: int, past: Past = no_past) -> Plan:
    """What a consolidation of *scope* ("" for all) writes, if it reads at most *most* statements.

    *past* reads the statements that are too long for the state.
    """
    apart = _apart(state, scope)
    fresh = [
        each
        for ids in apart.values()
        for each, cluster in ids.items()
        if not cluster and each not in state.read
    ]
    taken = frozenset(fresh[:most])
    written: list[WrittenMemory] = []
    for place, ids in apart.items():
        if taken.isdisjoint(ids):
            continue
        before = [each for each in ids if each not in taken and (ids[each] or each in state.read)]
        wanted = taken.union(before[-READ_BEFORE:])
        words = {e: frozenset(content_words(state.said[e][0])) for e in ids if e in wanted}
        for members in _clusters(words, ids):
            if not taken.isdisjoint(members):
                written += _written(state, place, members, ids, words)
    written += summaries(state, scope, most, past)
    return Plan(tuple(written), tuple(fresh[:most]), max(0, len(fresh) - most))


def _apart(state: MemoryState, scope: str) -> dict[Place, dict[str, str]]:
    """Statements by scope and subject, oldest first, and the node about each cluster that has room.

    What was in a cluster that left memory is in none again: who took it back does not want it.
    """
    found: dict[Place, dict[str, str]] = {}
    for node_id in state.said:
        known = state.nodes.get(node_id)
        if (
            known is None
            or known.kind not in KINDS_READ
            or known.origin == "model"  # its words would become those of a rule
            or (scope and known.scope != scope)
        ):
            continue
        clusters = [
            each for each in state.cited_by.get(node_id, ()) if state.nodes[each].form == "cluster"
        ]
        current = next(filter(state.is_current, clusters), "")
        if not clusters or (current and state.nodes[current].times < MOST_CITED):
            found.setdefault((known.scope, known.subject), {})[node_id] = current
    return found


def _clusters(
    words: Mapping[str, frozenset[str]], cluster_of: Mapping[str, str]
) -> Iterator[list[str]]:
    """The ids whose words are alike, or that are in one cluster, joined; by their first."""
    of_word: defaultdict[str, list[str]] = defaultdict(list)
    first: dict[str, str] = {}

    def root(each: str) -> str:
        while first[each] != each:
            first[each] = first[first[each]]  # a long way is gone once
            each = first[each]
        return each

    oldest: dict[str, str] = {}
    for each, own in words.items():
        first[each] = each
        shared: Counter[str] = Counter()
        for word in sorted(own):
            shared.update(of_word[word][-LOOKED_AT:])
            of_word[word].append(each)
        least = ALIKE * len(own)  # most share a word or two: no union is made of those
        numbers = _numbers(own)
        for other, both in shared.items():
            # "Step 3 took 40 s" and "Step 4 took 90 s" are no statement that was made twice.
            if (
                both >= least
                and both >= ALIKE * len(own | words[other])
                and numbers == _numbers(words[other])
            ):
                first[root(each)] = root(other)  # the other one is older
        if cluster_of[each]:
            first[root(each)] = root(oldest.setdefault(cluster_of[each], each))
    members: dict[str, list[str]] = {}
    for each in words:
        members.setdefault(root(each), []).append(each)
    yield from members.values()


def _numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if word[0].isdigit())


def _written(
    state: MemoryState,
    place: Place,
    members: Sequence[str],
    cluster_of: Mapping[str, str],
    words: Mapping[str, frozenset[str]],
) -> Iterator[WrittenMemory]:
    """What is written of a cluster: nothing if it is small, or has hardly grown."""
    clusters = tuple(dict.fromkeys(filter(None, (cluster_of[each] for each in members))))
    cited = [each for each in members if not cluster_of[each]]
    told = sum(state.nodes[each].times for each in clusters)
    if not has_grown(told + len(cited), told):
        return
    if clusters:  # also what is in them and was not read now
        wanted = {*cited, *(each for each in cluster_of if cluster_of[each] in clusters)}
        cited = [each for each in cluster_of if each in wanted]
    cited = cited[:MOST_CITED]
    all_words = {
        each: words[each] if each in words else frozenset(content_words(state.said[each][0]))
        for each in cited
    }
    yield _cluster(state, place, cited, all_words, clusters)


def _cluster(
    state: MemoryState,
    place: Place,
    cited: Sequence[str],
    words: Mapping[str, frozenset[str]],
    replaces: tuple[str, ...],
) -> WrittenMemory:
    total: Counter[str] = Counter(word for each in cited for word in words[each])
    # The one whose words the others have most, the oldest of equals.
    place_of = {each: n for n, each in enumerate(cited)}

    def likeness(each: str) -> tuple[float, int]:
        own = words[each]
        return sum(total[word] for word in own) / max(len(own), 1), -place_of[each]

    best = max(cited, key=likeness)
    return WrittenMemory(
        form="cluster",
        scope=place[0],
        subject=place[1],
        ids=tuple(cited),
        content=f"Said {len(cited)} times: {state.said[best][0].strip()}",
        quote=quoted([state.said[each][0] for each in cited if each != best]),
        confidence=min(state.nodes[each].confidence for each in cited),
        times=len(cited),
        replaces=replaces,
    )
