"""The legend: long repeated phrases are written once and named by one character.

The phrases that save most are chosen first. A phrase never ends inside a word or number, and an
entry may use only the names above it. In a long text only samples from all over are searched.
"""

import heapq
import re
from itertools import islice

from ..package import Counter
from . import phrases
from .cover import Cover, places_of, replaced
from .entries import NAMES
from .phrases import LINE_TOKENS, Use

_MIN_GAIN = 2  # tokens; less is not worth a line of the legend
_MIN_RUN = 3  # tokens of a phrase that is no single word
_MIN_LINES_RUN = 8  # tokens of a phrase that goes over the end of a line
_WORD_CHARS = 8
_PHRASE_CHARS = 12  # from which on two tokens in two words are a long phrase too
_MIN_TEXT_TOKENS = 40
SEARCHED_CHARS = 128_000  # total length of the samples of a longer text
_STRETCHES = 8
_SENTENCE_END = re.compile(r"[a-z`)][.!?](?: |$)")


def build(text: str, counter: Counter, *, prose: bool = False) -> tuple[list[tuple[str, str]], str]:
    """The entries (name, phrase) of a legend for *text*, and *text* with the names in it.

    Args:
        text: What repeats itself.
        counter: Counts tokens.
        prose: Sentences stay readable: only long phrases, none over the end of a line or of a
            sentence, and the blank before a phrase stays before its name.
    """
    sample = _sample(text)
    lengths = counter.lengths(sample)
    if len(lengths) < _MIN_TEXT_TOKENS:
        return [], text
    over_lines = 1 << 30 if prose else _MIN_LINES_RUN
    found = phrases.find(sample, lengths)
    if prose:
        found = _within_sentences(found)
    found = {p: use for p, use in found.items() if _is_readable(p, use.tokens, over_lines)}
    free = (each for each in NAMES if each not in text)
    if prose:  # those that are one token with that blank too
        free = (each for each in free if counter.count(" " + each) == 1)
    names = list(islice(free, len(found)))
    entries, cover = _chosen(sample, found, names, len(text) / len(sample))
    return entries, (cover if sample is text else cover.on(text)).text()


def _sample(text: str) -> str:
    """*text*, or samples from all over it, so that the search is bounded."""
    if len(text) <= SEARCHED_CHARS:
        return text
    size = SEARCHED_CHARS // _STRETCHES
    step = (len(text) - size) // (_STRETCHES - 1)
    return "\n".join(text[at * step : at * step + size] for at in range(_STRETCHES))


def _within_sentences(found: dict[str, Use]) -> dict[str, Use]:
    """*found* without phrases over the end of a sentence; none begins with its blank."""
    within: dict[str, Use] = {}
    for phrase, use in found.items():
        word = phrase.removeprefix(" ")
        if word is not phrase and not word.startswith(" "):
            phrase, use = word, use._replace(places=[at + 1 for at in use.places])
        if _SENTENCE_END.search(phrase):
            continue
        if phrase not in within or within[phrase].times < use.times:
            within[phrase] = use
    return within


def _is_readable(phrase: str, tokens: int, over_lines: int) -> bool:
    # Short phrases are too common ("to do", "in the"); a single long word may be named.
    is_word = " " not in phrase.strip(" ")
    is_long = len(phrase) >= (_WORD_CHARS if is_word else _PHRASE_CHARS)
    return tokens >= (over_lines if "\n" in phrase else 2 if is_long else _MIN_RUN)


def _chosen(
    text: str, found: dict[str, Use], names: list[str], scale: float
) -> tuple[list[tuple[str, str]], Cover]:
    """The entries that save most in *text*, a sample of a text *scale* times as long."""
    cover = Cover(text)
    heap = [(-_gain(use.times * scale, use.tokens), p) for p, use in found.items()]
    heapq.heapify(heap)
    entries: list[tuple[str, str]] = []
    while heap and len(entries) < len(names):
        _, phrase = heapq.heappop(heap)
        tokens, times, places = found[phrase]
        named = sum(len(places_of(phrase, p)) for _, p in entries if phrase in p)
        next_gain = max(_MIN_GAIN, -heap[0][0]) if heap else _MIN_GAIN
        gain = _gain(cover.share(places, len(phrase)) * times * scale + named, tokens)
        if gain >= next_gain:  # it seems to be the best: look for it
            gain = _gain(cover.count(phrase) * scale + named, tokens)
        if gain < next_gain:  # what was taken before left it less to save
            if gain >= _MIN_GAIN:
                heapq.heappush(heap, (-gain, phrase))
            continue
        name = names[len(entries)]
        cover.take(phrase, name)
        entries = [(n, replaced(phrase, name, p)) for n, p in entries]
        entries.append((name, phrase))
    return entries[::-1], cover  # the last one chosen uses no names, so it comes first


def _gain(uses: float, tokens: int) -> float:
    return uses * (tokens - 1) - tokens - LINE_TOKENS
