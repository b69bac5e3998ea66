"""The legend: long phrases that a text repeats are said once and named by one character.

Repeats are searched for in tokens (so that what is saved is what is paid), by doubling: the name of
every run of 2n tokens is the pair of the names of its halves. The phrases that save most are taken
first. A phrase never ends inside a word or number, and an entry may use the names above it only.
"""

import heapq
import json
import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .errors import CtxBoundError, CtxFormatError
from .package import Counter

# One token each under both shipped encodings; what a text itself uses is left out.
NAMES: Final = (
    "αβγδεηθικλμνπρστυφχω§¶†•¤£¥µ¿¡«»ª½¾×æåßбвгджзиклмнптфцчшщъыьэюяБГДЗИЛПУФЦЧЭЯ"  # noqa: RUF001
    "あいうえおかがきくけこごさざしじすせそただちっつてでとどなにのはばまみめもやよらりるれろわをん"
    "アィイウェエオカキクグコサシジスズセタダチッテデトドナニバパビピフブプペポマムメャュョラリルレロン"
)
EXPANDED_CHARS = 64_000_000  # a legend of 20 lines can say a text of terabytes
_RUNS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # tokens
_KEPT = 600  # candidates of each length
_LOOKED_AT = 64  # places of a run, when it is widened
_MIN_GAIN = 2  # tokens; less is not worth a line of the legend
_LINE_COST = 3  # tokens of an entry beside its phrase
_MIN_RUN = 3  # tokens of a phrase that is no single word
_MIN_LINES_RUN = 8  # tokens of a phrase that goes over the end of a line
_WORD_CHARS = 8
_MIN_TEXT_TOKENS = 40
_MAX_TEXT_TOKENS = 4_000_000
Ids = npt.NDArray[np.int64]


def build(text: str, counter: Counter, *, prose: bool = False) -> tuple[list[tuple[str, str]], str]:
    """The entries (name, phrase) of a legend for *text*, and *text* with the names in it.

    Args:
        text: What repeats itself.
        counter: Counts tokens.
        prose: Sentences stay readable: only long phrases, none over the end of a line.
    """
    names = [each for each in NAMES if each not in text]
    lengths = counter.lengths(text)
    if not names or not _MIN_TEXT_TOKENS <= len(lengths) <= _MAX_TEXT_TOKENS:
        return [], text
    found = _candidates(text, lengths)
    over_lines = 1 << 30 if prose else _MIN_LINES_RUN
    found = {p: n for p, n in found.items() if _is_readable(p, n, over_lines)}
    return _chosen(text, found, names)


def _candidates(text: str, lengths: Any) -> dict[str, int]:
    """Phrases that stand in *text* at least twice, with their tokens."""
    data = text.encode(errors="surrogatepass")
    known: dict[bytes, int] = {}
    ends = np.cumsum(np.asarray(lengths, dtype=np.int64))
    starts = ends - lengths
    words = [data[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    ids = np.fromiter((known.setdefault(w, len(known)) for w in words), np.int64, len(words))
    found: dict[str, int] = {}
    names = {1: ids}
    for run in _RUNS:
        if run >= len(ids):
            break
        named = _named(names, run)
        seen = np.zeros(len(ids), np.int64)  # uses of the phrase that a run is inside of
        for places, uses in _repeated(named, run):
            if seen[places[0]] == uses:
                continue
            first, last = _widened(ids, places, run)
            seen[first : last + 2 - run] = uses
            phrase = data[starts[first] : ends[last]].decode(errors="ignore")
            if _is_phrase(phrase):
                found[phrase] = last - first + 1
    return found


def _named(names: dict[int, Ids], run: int) -> Ids:
    """A number for every run of so many tokens; equal runs have equal numbers."""
    half = max(each for each in names if each < run)
    left = names[half]
    size = len(names[1]) - run + 1
    right = left[run - half : run - half + size]
    pairs = left[:size] * (int(left.max()) + 1) + right
    _, inverse = np.unique(pairs, return_inverse=True)
    named: Ids = inverse.astype(np.int64)
    if run & (run - 1) == 0:
        names[run] = named
    return named


def _repeated(named: Ids, run: int) -> Iterator[tuple[Ids, int]]:
    """The places of the runs that would save most, and how many there are."""
    order = np.argsort(named, kind="stable")
    edges = np.flatnonzero(np.diff(named[order], prepend=-1))
    counts = np.diff(edges, append=len(named))
    gains = (counts - 1) * (run - 1) - _LINE_COST
    gains[counts < 2] = 0
    for each in np.argsort(-gains, kind="stable")[:_KEPT]:
        if gains[each] > 0:
            start, uses = int(edges[each]), int(counts[each])
            yield order[start : start + min(uses, _LOOKED_AT)], uses


def _widened(ids: Ids, places: Ids, run: int) -> tuple[int, int]:
    """The first place's run, with what stands around all *places* alike: first and last token."""
    left = right = 0
    while places[0] - left > 0 and left < run:
        before = ids[places - left - 1]
        if (before != before[0]).any():
            break
        left += 1
    while places[-1] + run + right < len(ids) and right < run:
        behind = ids[places + run + right]
        if (behind != behind[0]).any():
            break
        right += 1
    return int(places[0]) - left, int(places[0]) + run + right - 1


def _is_phrase(text: str) -> bool:
    return sum(map(str.isalnum, text)) >= 4


def _is_readable(phrase: str, tokens: int, over_lines: int) -> bool:
    # Short ones would name what any sentence says ("to do", "in the"); a long word may be named.
    is_word = len(phrase) >= _WORD_CHARS and " " not in phrase.strip(" ")
    return tokens >= (over_lines if "\n" in phrase else 2 if is_word else _MIN_RUN)


def _pattern(phrase: str) -> re.Pattern[str]:
    before = r"(?<![^\W_])" if phrase[0].isalnum() else ""
    behind = r"(?![^\W_])" if phrase[-1].isalnum() else ""
    return re.compile(before + re.escape(phrase) + behind)


def _chosen(
    text: str, candidates: dict[str, int], names: list[str]
) -> tuple[list[tuple[str, str]], str]:
    heap = [(-_gain(text.count(p), tokens), p, tokens) for p, tokens in candidates.items()]
    heapq.heapify(heap)
    entries: list[tuple[str, str]] = []
    while heap and len(entries) < len(names):
        _, phrase, tokens = heapq.heappop(heap)
        pattern = _pattern(phrase)
        places = [text, *(p for _, p in entries if phrase in p)]
        gain = _gain(sum(len(pattern.findall(each)) for each in places), tokens)
        if gain < _MIN_GAIN:
            continue
        if heap and gain < -heap[0][0]:  # what was taken before left it less to save
            heapq.heappush(heap, (-gain, phrase, tokens))
            continue
        name = names[len(entries)]
        text = pattern.sub(name, text)
        entries = [(n, pattern.sub(name, p)) for n, p in entries]
        entries.append((name, phrase))
    return entries[::-1], text  # the last one chosen holds no name, so it stands first


def _gain(uses: int, tokens: int) -> int:
    return uses * (tokens - 1) - tokens - _LINE_COST


def show(entries: list[tuple[str, str]]) -> list[str]:
    """The lines of the legend."""
    return [f"{name}={_shown(phrase)}" for name, phrase in entries]


def _shown(phrase: str) -> str:
    plain = phrase.isprintable() and phrase.strip(" ") == phrase and phrase[0] != '"'
    return phrase if plain else json.dumps(phrase, ensure_ascii=False)


def expand(lines: list[str], body: str, limit: int = EXPANDED_CHARS) -> str:
    """*body* with every name of the legend *lines* replaced by its phrase.

    Raises:
        CtxFormatError: a line is no entry.
        CtxBoundError: the result would be longer than *limit* characters.
    """
    phrases: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        name, phrase = line[:1], line[2:]
        if line[1:2] != "=" or not phrase or name in phrases or name not in NAMES:
            raise CtxFormatError(f"{line[:40]!r} is no entry of a legend", number + 1)
        if phrase[0] == '"':
            try:
                phrase = json.loads(phrase)
            except ValueError as error:
                raise CtxFormatError(f"a phrase does not end: {error}", number + 1) from error
        phrases[name] = _replaced(str(phrase), phrases, limit)
    return _replaced(body, phrases, limit)


def _replaced(text: str, phrases: dict[str, str], limit: int) -> str:
    if not phrases:
        return text
    size = len(text) + sum(text.count(n) * (len(p) - 1) for n, p in phrases.items())
    if size > limit:
        raise CtxBoundError("the expanded text in characters", size, limit)
    return text.translate({ord(name): phrase for name, phrase in phrases.items()})
