"""Puts the current statement above those it replaced, and gives the history of one on request."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from cortex.runtime.retrieval import rarity

from .reading import DATE, NAME, NUMBER, Reading, read, sentences
from .replacing import likelihood
from .statements import SURE, Hit, Statement

LOOKED_AT: Final = 20  # hits, the best
SAME: Final = 0.3  # certainty from which the newer one of two hits is put above the older one
CLOSE: Final = 0.7  # of the best score, for hits that may be about what is asked
# Of what the hit says that covers most of the question: a statement says what it is about in a few
# words; a long message says little of that in the question's words.
COVERS: Final = 0.85
COVERS_LONG: Final = 0.35
LONG: Final = 9  # content words
BRIEF_CHARS: Final = 200  # a longer text is a message, of which a statement is a part

_VALUE = re.compile(
    r"^\W*(?:and |so )?(?:what|which|when|where|who|whom|whose|(?:at|in|on|for|with) wh\w+"
    r"|how (?:many|much|often|long|old|far|fast|big|large|high|tall|late|early))\b"
    r"|\b(?:is|are|am|do|does|have|has) (?:my|our|the|i|we)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|did|used to|original(?:ly)?|initial(?:ly)?|first|before|previous(?:ly)?|history"
    r"|over time|evol\w+|chang\w+|progress\w*|order|sequence|throughout|earlier|former(?:ly)?"
    r"|ago)\b",
    re.IGNORECASE,
)


def order_current(question: str, hits: Sequence[Hit], *, complete: bool = False) -> tuple[Hit, ...]:
    """*hits*, those that say what is so now above those that said it before.

    A hit that an edge has replaced comes after all that are current: give its successor with the
    hits, too. Without an edge, the newer one of two hits goes above the older one if both say of
    one thing what it is. A question for the past keeps the order.

    Args:
        question: In natural language.
        hits: The best first, as retrieval ranked them.
        complete: That each replacement has its edge, as where people give them: then what two
            chains end with are two things, however much alike.
    """
    if asks_for_past(question):
        return tuple(hits)
    asked = read(question)
    ranked = _most_said_first(asked, _fitting_first(asked, _by_chain(hits)))
    if not _VALUE.search(question):
        return tuple(ranked)
    heads = frozenset(hit.replaced_by for hit in hits if complete)
    current = [hit for hit in ranked if not hit.replaced_by]
    replaced = [hit for hit in ranked if hit.replaced_by]
    newest = _newest_first(asked, current[:LOOKED_AT], heads)
    return (*newest, *current[LOOKED_AT:], *replaced)


def asks_for_past(question: str) -> bool:
    """Whether *question* asks how something was, or became what it is."""
    return _PAST.search(question) is not None


def history(
    of: str, statements: Iterable[Statement], edges: Iterable[tuple[str, str]]
) -> tuple[Statement, ...]:
    """All statements that lead to statement *of*, or from it, by `supersedes`; the oldest first.

    *edges* are ids: the newer statement, and the one that it supersedes.
    """
    beside: defaultdict[str, set[str]] = defaultdict(set)
    for new, old in edges:
        beside[new].add(old)
        beside[old].add(new)
    found, left = {of}, [of]
    while left:
        more = beside[left.pop()] - found
        found |= more
        left += more
    chain = (statement for statement in statements if statement.id in found)
    return tuple(sorted(chain, key=lambda one: (one.time_ns, one.id)))


def _fitting_first(asked: Reading, hits: Sequence[Hit]) -> list[Hit]:
    """*hits*; last those that only ask or suppose, or lack a name of the question.

    It must be a name that another hit has. A chain has the names of all its statements. Long
    messages stay where they are: they name things in one sentence and speak of them in others.
    """
    words: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for hit in hits:
        if _is_brief(hit):
            words[_head(hit)] |= _stems(hit.statement.text)
    names = frozenset(word.stem for word in asked.words if word.kind == NAME)
    known = names & frozenset().union(*words.values())

    def misses(hit: Hit) -> bool:
        if not _is_brief(hit) or len(_stems(hit.statement.text)) >= LONG:
            return False
        return not known <= words[_head(hit)] or sentences(hit.statement.text)[0].unsure

    return sorted(hits, key=misses)


def _most_said_first(asked: Reading, hits: Sequence[Hit]) -> list[Hit]:
    """*hits*, each current one above those that say only a part of what it says of the question.

    A chain says what all its statements say: "it is 10:45 now" leaves out what was clear. What says
    other parts of the question stays where it is; so do long messages, and what is newer than a
    statement that ends no chain, and may be what is so now.
    """
    counts = asked.stems - _wanted(asked)
    ends = frozenset(hit.replaced_by for hit in hits)
    said: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for hit in hits:
        if _is_brief(hit):
            said[_head(hit)] |= _stems(hit.statement.text) & counts

    ordered: list[tuple[Hit, frozenset[str] | None]] = []
    for hit in hits:
        own = said[_head(hit)] if _is_brief(hit) else None
        place = len(ordered)
        if own and not hit.replaced_by:
            is_end, since_ns = hit.statement.id in ends, hit.statement.time_ns
            for at, (other, others) in enumerate(ordered):
                less = others is not None and others < own
                if less and (is_end or since_ns > other.statement.time_ns):
                    place = at
                    break
        ordered.insert(place, (hit, own))
    return [hit for hit, _ in ordered]


def _wanted(asked: Reading) -> frozenset[str]:
    """The word for what is asked for: "at what time" has its answer in "10:45"."""
    behind = {place + 1 for place, word in enumerate(asked.low) if word in ("what", "which")}
    return frozenset(word.stem for word in asked.words if word.first in behind)


def _by_chain(hits: Sequence[Hit]) -> list[Hit]:
    """*hits*, what is current as high as the best of what it replaced, which comes after all."""
    best: dict[str, float] = {}
    for hit in hits:
        best[_head(hit)] = max(best.get(_head(hit), hit.score), hit.score)
    return sorted(hits, key=lambda hit: (bool(hit.replaced_by), -best[_head(hit)]))


def _is_brief(hit: Hit) -> bool:
    return len(hit.statement.text) <= BRIEF_CHARS


def _head(hit: Hit) -> str:
    return hit.replaced_by or hit.statement.id


def _newest_first(asked: Reading, hits: Sequence[Hit], heads: frozenset[str]) -> list[Hit]:
    """*hits*, each above the first older one that is about the same.

    Those of *heads* are the ends of chains, and all that they replaced is known.
    """
    best = max((hit.score for hit in hits), default=0.0)
    # To read a long message takes longer than to find it: only those are that may be moved.
    near = [hit for hit in hits if _is_brief(hit) or hit.score >= CLOSE * best]
    told = [_Told(asked, hit) for hit in near]
    weights = _weights(asked, told)
    total = sum(weights.values()) or 1.0
    for one in told:
        one.covers = sum(weights[stem] for stem in asked.stems & one.stems) / total
    most = max((one.covers for one in told), default=0.0)
    for one in told:
        least = (COVERS if one.is_short else COVERS_LONG) * most
        one.is_head = one.hit.statement.id in heads
        one.answers = (
            not one.is_head and one.says and one.covers >= least and one.hit.score >= CLOSE * best
        )
    ordered: list[_Told] = []
    for one in told:
        at = next((at for at, other in enumerate(ordered) if one.is_above(other)), len(ordered))
        ordered.insert(at, one)
    moved = iter([one.hit for one in ordered])
    return [next(moved) if hit in near else hit for hit in hits]


def _weights(asked: Reading, told: Sequence["_Told"]) -> dict[str, float]:
    """What each word of the question weighs: the fewer hits have it, the more."""
    return {stem: rarity(len(told), sum(stem in one.stems for one in told)) for stem in asked.stems}


class _Told:
    """A hit, as it was read for one question."""

    def __init__(self, asked: Reading, hit: Hit) -> None:
        self.hit = hit
        self.stems = _stems(hit.statement.text)
        parts = sentences(hit.statement.text)
        self.is_short = len(self.stems) < LONG
        self.sentence = max(parts, key=lambda part: len(asked.stems & part.stems))
        self.says = not self.sentence.unsure if self.is_short else _has_value(self.sentence, asked)
        self.covers = 0.0  # share of the question's words, by how rare they are among the hits
        self.answers = False
        self.is_head = False  # of a chain; all that it replaced is known

    def is_above(self, other: "_Told") -> bool:
        """Whether this one is newer than *other*, and says the same thing of another time."""
        one, two = self.hit.statement, other.hit.statement
        if one.time_ns <= two.time_ns or one.speaker != two.speaker:
            return False
        if self.answers and other.answers:
            return True
        if self.is_head and other.is_head:
            return False
        least = SURE if self.is_head or other.is_head else SAME
        return likelihood(self.sentence, other.sentence)[0] >= least


def _has_value(sentence: Reading, asked: Reading) -> bool:
    return any(
        word.kind in (NUMBER, DATE) and word.stem not in asked.stems for word in sentence.words
    )


def _stems(text: str) -> frozenset[str]:
    parts = sentences(text)
    if len(parts) == 1:
        return parts[0].stems | parts[0].former
    return frozenset().union(*[part.stems for part in parts])
