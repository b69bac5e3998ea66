"""Answer any other question: the sentences of the context that say most about it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from cortex.runtime.context import Passage
from cortex.runtime.retrieval import TextScores, content_words

from .extract import Quote, Role

MOST_SPANS: Final = 6
LEAST_COVERAGE: Final = 0.45  # of what the question asks, by weight, in a sentence and around it
NEIGHBOUR_SHARE: Final = 0.3  # of a sentence's score that the ones beside it get
HEADING_SHARE: Final = 0.5
SAME_SHARE: Final = 0.6  # of common words above which a sentence says the same again
FAR_BELOW_BEST: Final = 0.4
FOUND: Final = "passage"  # the kind of items that a step's `find:` brought
STEM: Final = 5  # letters in which words of one stem agree, near enough
MOST_FOUND: Final = 3

_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9\u00c0-\u024f])|(?<=[\u3002\uff01\uff1f])"
)
_LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#])\1{2,}")
_HOW_MUCH = re.compile(r"(?i)\bhow (?:much|many|long|often|old|far|big)\b")  # no answer says so
_HEADING = re.compile(r"#{1,6}\s+\S")


class Unit(NamedTuple):
    """A sentence, or a line where there are none."""

    item_id: str
    first_line: int
    last_line: int
    text: str
    heading: str


def question_spans(passages: Sequence[Passage], question: str) -> list[Quote]:
    """The sentences that answer *question* best, best first; none if they hardly touch it."""
    asked = sorted(set(content_words(_HOW_MUCH.sub(" ", question))))
    units = [unit for passage in passages for unit in sentences(passage)]
    if not asked or not units:
        return []
    words = [content_words(unit.text) for unit in units]
    ranked = TextScores(words, asked)
    own = ranked.scores
    # A heading stands over many sentences: its words are looked for once.
    words_of = {heading: set(content_words(heading)) for heading in {u.heading for u in units}}
    titles = [words_of[unit.heading] for unit in units]
    title_score = {unit.heading: 0.0 for unit in units}
    for unit, title in zip(units, titles, strict=True):
        title_score[unit.heading] = sum(ranked.weight(w) for w in asked if w in title)
    scores = [
        own[at]
        + NEIGHBOUR_SHARE * sum(own[i] for i in _beside(units, at))
        + (HEADING_SHARE * title_score[units[at].heading] if own[at] else 0.0)
        for at in range(len(units))
    ]
    total = sum(ranked.weight(word) for word in asked)
    around = [
        set(words[at]).union(titles[at], *(words[i] for i in _beside(units, at)))
        for at in range(len(units))
    ]
    answering = [
        at
        for at in range(len(units))
        if own[at] > 0
        and sum(ranked.weight(w) for w in asked if w in around[at]) >= LEAST_COVERAGE * total
    ]
    return _distinct(units, words, scores, answering)


def found_spans(passages: Sequence[Passage], question: str) -> list[Quote]:
    """The sentences nearest to *question* in passages that were found for it, best first.

    Retrieval has compared them with the question already, by parts of words, too, so that they say
    something about it even where they share no word with it. None where nothing was found.
    """
    units = [unit for each in passages if each.kind == FOUND for unit in sentences(each)]
    asked = {word[:STEM] for word in content_words(question)}
    scores = [float(len(asked.intersection(_stems(unit)))) for unit in units]
    order = sorted(range(len(units)), key=lambda at: (-scores[at], at))
    best = [at for at in order if scores[at] > 0 and scores[at] == scores[order[0]]]
    chosen = (best or order)[:MOST_FOUND]
    return [_span(units[at], scores[at], "found") for at in chosen]


def _stems(unit: Unit) -> set[str]:
    return {word[:STEM] for word in content_words(f"{unit.heading} {unit.text}")}


def _distinct(
    units: list[Unit], words: list[list[str]], scores: list[float], answering: list[int]
) -> list[Quote]:
    chosen: list[int] = []
    for at in sorted(answering, key=lambda at: (-scores[at], at)):
        if chosen and scores[at] < FAR_BELOW_BEST * scores[chosen[0]]:
            break
        if all(_common(words[at], words[other]) < SAME_SHARE for other in chosen):
            chosen.append(at)
        if len(chosen) == MOST_SPANS:
            break
    return [_span(units[at], scores[at], "answer") for at in chosen]


def _span(unit: Unit, score: float, role: Role) -> Quote:
    return Quote(
        item_id=unit.item_id,
        first_line=unit.first_line,
        last_line=unit.last_line,
        text=unit.text,
        role=role,
        score=round(score, 6),
    )


def _beside(units: list[Unit], at: int) -> list[int]:
    return [
        i
        for i in (at - 1, at + 1)
        if 0 <= i < len(units)
        and units[i].item_id == units[at].item_id
        and units[i].heading == units[at].heading
    ]


def _common(one: list[str], other: list[str]) -> float:
    both = set(one) & set(other)
    return len(both) / max(min(len(set(one)), len(set(other))), 1)


def sentences(passage: Passage) -> Iterator[Unit]:
    """The sentences of *passage* in order; headings are no sentences."""
    heading = ""
    keys: list[str] = []  # the lines "key:" that the block is indented under, outermost first
    for start, block in _blocks(passage.lines):
        underlined = _UNDERLINE.fullmatch(block[0].strip())
        if underlined or (len(block) == 1 and _HEADING.match(block[0])):
            heading = passage.lines[start - 1].strip() if underlined else block[0].lstrip("# ")
            continue
        text = "\n".join(block)
        keys = [key for key in keys if _indent(key) < _indent(block[0])]
        above = " ".join((heading, *map(str.strip, keys)))
        if text.rstrip().endswith(":"):
            keys.append(block[0])
        for begin, end in _sentences(text):
            first = passage.first_line + start + text.count("\n", 0, begin)
            sentence = text[begin:end]
            yield Unit(passage.item_id, first, first + sentence.count("\n"), sentence, above)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Runs of prose lines; a heading, a list item or a line of anything else stands alone."""
    start, block = 0, list[str]()
    for at, line in enumerate(lines):
        joins = bool(block) and _continues(block[-1], line)
        if not joins and block:
            yield start, block
            block = []
        if line.strip():
            start = start if block else at
            block.append(line)
    if block:
        yield start, block


def _continues(above: str, line: str) -> bool:
    """Whether *line* goes on with the sentence of *above*, as in wrapped prose."""
    opens = (_HEADING, _LIST_ITEM, _UNDERLINE)
    if not line.strip() or _HEADING.match(above) or any(p.match(line) for p in opens):
        return False
    if _indent(line) > _indent(above) and not _LIST_ITEM.match(above):
        return False
    return len(above) > 50 and len(above.split()) >= 6


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for match in _SENTENCE_END.finditer(text):
        yield from _trimmed(text, begin, match.start())
        begin = match.end()
    yield from _trimmed(text, begin, len(text))


def _trimmed(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    while begin < end and text[begin].isspace():
        begin += 1
    while begin < end and text[end - 1].isspace():
        end -= 1
    if begin < end:
        yield begin, end
