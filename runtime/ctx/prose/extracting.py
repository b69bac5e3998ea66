"""Shortens prose to a budget: chooses the whole sentences that together cover most.

A greedy choice by coverage: each step takes the sentence that adds most per token to the chosen
ones, so repetition is never chosen twice. (Lin and Bilmes, "A Class of
Submodular Functions for Document Summarization", 2011; for such gains the greedy choice is at least
a constant share of the best one.)
"""

import heapq
import math
import re
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from .. import header
from ..encoding import encode
from ..package import Counter, Kind, Package, Part
from . import blocks, checker, sentences

FACT: Final = 2.0  # what a new fact is worth
WORD: Final = 0.15  # per new content word, times the logarithm of its frequency
ASKED: Final = 6.0  # a word that is asked for, more the rarer it is
LEGEND_SHARE: Final = 4  # times the budget, which the exact form of a text may still meet
LEAST_TOKENS: Final = 3  # that a sentence costs, however short it is
_WORD = re.compile(r"[^\W\d_]{3,}")
_MARK = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)]|#\.)\s+(?:\[[ xX]\]\s+)?")  # of an item


class TextUnit(msgspec.Struct):
    """What is taken whole: a sentence, or lines that are no prose."""

    text: str
    block: int  # of the text, from 0
    heading: int  # the unit that is the heading above it; -1 for none
    tokens: int
    says: dict[str, float]  # its contents, with their weights
    stands: bool = True  # False for a heading, which comes with what is taken from below it


def extract(
    text: str, kind: Kind = "text", *, tokens: int, counter: Counter, question: str = ""
) -> Package:
    """Sentences of *text*, unchanged and in its order, that take at most *tokens* together.

    Args:
        text: The source.
        kind: "markdown" or "text".
        tokens: What the package may take, header included.
        counter: Counts them.
        question: What it is read for: sentences with its words come first.

    Returns:
        A package of mode "extracted"; the whole source, as `encode` has it, where that fits.
    """
    source_tokens = counter.count(text)
    if source_tokens <= LEGEND_SHARE * tokens:  # a longer one has no form that fits
        whole = encode(text, kind, counter=counter)
        if whole.tokens <= tokens:
            return whole
    room = tokens - counter.count(header.put("extracted", kind, ""))
    for body in _shorter_and_shorter(text, room, counter, question):
        made = header.put("extracted", kind, body)
        used = counter.count(made)
        if used <= tokens or not body:
            break
    return Package(made, "extracted", kind, used, source_tokens, (Part("extracted", 0, len(made)),))


def sentences_that_cover(text: str, *, tokens: int, counter: Counter, question: str = "") -> str:
    """As `extract`, without a header, and sentences where `extract` may take another form."""
    if counter.count(text) <= tokens:
        return text
    bodies = _shorter_and_shorter(text, tokens, counter, question)
    return next((body for body in bodies if counter.count(body) <= tokens), "")


def _shorter_and_shorter(text: str, room: int, counter: Counter, question: str) -> Iterator[str]:
    """What is chosen of *text*, one sentence less each time: the least worth goes first.

    Counted alone, pieces may take fewer tokens than together.
    """
    pieces = blocks.split(text)
    units = _units(pieces, counter, question)
    taken = _chosen(units, room)
    while True:
        yield _written(pieces, units, taken)
        if not taken:
            return
        taken = taken[:-1]


def left_out(source: str, extracted: str) -> list[str]:
    """The sentences and lines of *extracted* that *source* does not have."""
    own = " ".join(source.split())
    pieces = [each for line in extracted.split("\n") for each in sentences.split(line)]
    bare = [" ".join(_MARK.sub("", each).split()) for each in pieces]
    return [each for each, said in zip(pieces, bare, strict=True) if said not in own]


def _parts(block: blocks.TextBlock) -> list[str]:
    if block.is_prose:
        return [each for each in sentences.split(blocks.prose_of(block)) if each.strip()]
    whole = "\n".join(block.lines)
    return [whole] if whole.strip() else []


def _units(pieces: Sequence[blocks.TextBlock], counter: Counter, question: str) -> list[TextUnit]:
    texts = [(at, part) for at, block in enumerate(pieces) for part in _parts(block)]
    words = [[word.lower() for word in _WORD.findall(part)] for _, part in texts]
    said = Tally(word for each in words for word in each)
    found = Tally(word for each in words for word in set(each))
    asked = {word.lower() for word in _WORD.findall(question)} - checker.LIGHT_WORDS
    worth = {
        word: WORD * math.log1p(count)
        for word, count in said.items()
        if word not in checker.LIGHT_WORDS
    }
    worth |= {word: ASKED * math.log1p(len(texts) / found[word]) for word in asked if word in said}
    units: list[TextUnit] = []
    heading = -1
    for (at, part), own in zip(texts, words, strict=True):
        is_heading = not pieces[at].is_prose and blocks.has_heading(pieces[at])
        says = {word: worth[word] for word in own if word in worth}
        says |= {f"{fact.sort} {fact.text}": FACT for fact in checker.facts(part)}
        tokens = max(LEAST_TOKENS, counter.count(part)) + 1
        above = -1 if is_heading else heading
        units.append(TextUnit(part, at, above, tokens, says, not is_heading))
        if is_heading:
            heading = len(units) - 1
    return units


def _chosen(units: Sequence[TextUnit], room: int) -> list[int]:
    """Units by what they add for their tokens, best first; a heading comes with the first below."""
    known: set[str] = set()
    taken: list[int] = []
    there: set[int] = set()

    def gain(at: int) -> tuple[float, int]:
        unit = units[at]
        above = units[unit.heading] if unit.heading >= 0 and unit.heading not in there else None
        tokens = unit.tokens + (above.tokens if above else 0)
        new = sum(worth for what, worth in unit.says.items() if what not in known)
        return new / tokens, tokens

    waiting = [(-gain(at)[0], at) for at, unit in enumerate(units) if unit.stands]
    heapq.heapify(waiting)
    while waiting:
        before, at = heapq.heappop(waiting)
        now, tokens = gain(at)
        if -before > now and waiting and -waiting[0][0] > now:
            heapq.heappush(waiting, (-now, at))  # others have said it meanwhile
            continue
        if tokens > room or now <= 0:
            continue
        room -= tokens
        if units[at].heading >= 0:
            there.add(units[at].heading)
        known.update(units[at].says)
        taken.append(at)
    return taken


def _written(
    pieces: Sequence[blocks.TextBlock], units: Sequence[TextUnit], taken: list[int]
) -> str:
    """What was *taken*, in the order of the text, under its headings."""
    shown = {*taken, *(units[at].heading for at in taken if units[at].heading >= 0)}
    lines: list[str] = []
    last = -1
    for at in sorted(shown):
        unit = units[at]
        if unit.block == last:
            lines[-1] += " " + unit.text
            continue
        apart = last >= 0 and not (pieces[unit.block].head.strip() and pieces[last].head.strip())
        lines += [""] if apart else []
        lines.append(
            pieces[unit.block].head + unit.text if pieces[unit.block].is_prose else unit.text
        )
        last = unit.block
    return "\n".join(lines)
