"""Near duplicates: texts with nearly the same words, found without comparing all pairs."""

import re
from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate
from threading import Lock
from typing import Final, Generic, TypeVar
from zlib import crc32

import msgspec

SHINGLE: Final = 4  # words
SKETCH: Final = 8  # smallest hashes by which candidates meet: twins share one, all but surely
LEAST: Final = 0.85  # of the shingles of both, that two near duplicates share
FEWEST: Final = 24  # words; a shorter text is too little to be nearly the same
MOST: Final = 1_500  # words; files are compared by their digests alone
MET: Final = 4  # texts that are remembered for a hash: boilerplate must not make this quadratic
SKETCHED_CHARS: Final = 3_000_000  # of the texts whose sketches are remembered: each is as large
_UINT32: Final = "I"  # of `array`
_DIGIT = re.compile(r"\d")
_NEGATIONS: Final = frozenset(
    ("no", "not", "never", "none", "nothing", "without", "cannot", "except", "unless")
)
_MARKS: Final = ".,;:!?()[]{}\"'`*_"
Made = TypeVar("Made")
CHARS: Final = 6_000_000  # of the texts that one function remembers


class Sketch(msgspec.Struct, frozen=True, gc=False):
    """What a text is compared by.

    Thousands are kept: the garbage collector would look at each hash in a set again and again.
    """

    packed: bytes  # the hashes of the shingles, 4 bytes each
    smallest: tuple[int, ...]
    facts: tuple[str, ...]  # words with a digit, and negations

    @property
    def shingles(self) -> frozenset[int]:
        """The hashes of the shingles."""
        return frozenset(memoryview(self.packed).cast(_UINT32))


def near_duplicates(texts: Sequence[str]) -> dict[int, int]:
    """The place of each text that an earlier one nearly equals, and the place of that one.

    No number and no negation is only in the later one. The same texts give the same answer in
    every process: hashes are CRC-32.
    """
    found: dict[int, int] = {}
    met: dict[int, tuple[int, ...]] = {}  # places by hash
    sketches: dict[int, Sketch] = {}
    for place, text in enumerate(texts):
        sketch = sketch_of(text)
        if sketch is None:
            continue
        if met.keys().isdisjoint(sketch.smallest):  # of nearly every text
            met.update(dict.fromkeys(sketch.smallest, (place,)))
            sketches[place] = sketch
            continue
        near = {at for smallest in sketch.smallest for at in met.get(smallest, ())}
        twin = next((at for at in sorted(near) if _says(sketches[at], sketch)), None)
        if twin is not None:
            found[place] = twin
            continue
        sketches[place] = sketch
        for smallest in sketch.smallest:
            places = met.get(smallest, ())
            if len(places) < MET:
                met[smallest] = (*places, place)
    return found


def _sketch(text: str) -> Sketch | None:
    if len(text) > MOST * 16:
        return None
    words = text.lower().split()
    if not FEWEST <= len(words) <= MOST:
        return None
    hashes = _hashes(words)
    said = set(words)
    facts = {word.strip(_MARKS) for word in said if not word.isalpha()}
    facts = {word for word in facts if _is_fact(word)} | (said & _NEGATIONS)
    ordered = sorted(hashes)
    packed = array(_UINT32, ordered).tobytes()
    return Sketch(packed, tuple(ordered[:SKETCH]), tuple(sorted(facts)))


def _hashes(words: list[str]) -> frozenset[int]:
    """Of every `SHINGLE` words in a row: cut out of one text, which is joined and encoded once."""
    joined = "".join(f"{word} " for word in words)
    if joined.isascii():
        sizes = [len(word) + 1 for word in words]
    else:
        sizes = [len(word.encode(errors="replace")) + 1 for word in words]
    starts = list(accumulate(sizes, initial=0))
    cuts = map(slice, starts, starts[SHINGLE:])
    return frozenset(map(crc32, map(joined.encode(errors="replace").__getitem__, cuts)))


def _is_fact(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't") or _DIGIT.search(word) is not None


class Remembered(Generic[Made]):
    """A pure function of a text that is asked again and again; the oldest answers are forgotten.

    Answers are in two generations: if the new one is full, it becomes the old one, whose answers
    are forgotten unless they were asked for meanwhile. Plain dicts, because the garbage collector
    looks at an ordered one several times as long.
    """

    def __init__(self, make: Callable[[str], Made], chars: int = CHARS) -> None:
        self._make = make
        self._most = chars // 8  # a longer text would drive out too many others
        self._room = chars // 2  # characters of a generation
        self._free = self._room
        self._new: dict[str, Made] = {}
        self._old: dict[str, Made] = {}
        self._lock = Lock()

    def __call__(self, text: str) -> Made:
        """What is made of *text*."""
        # No lock: another thread may only move an answer on the way, which is then made again.
        new, old = self._new, self._old
        if text in new:
            return new[text]
        made = old[text] if text in old else self._make(text)
        if len(text) <= self._most:
            with self._lock:
                self._keep(text, made)
        return made

    def _keep(self, text: str, made: Made) -> None:
        if text in self._new:
            return
        if len(text) > self._free:
            self._new, self._old, self._free = {}, self._new, self._room
        self._new[text] = made
        self._free -= len(text)


# The sketch of a text; none where it is too short or too long.
sketch_of = Remembered(_sketch, SKETCHED_CHARS)


def _says(kept: Sketch, later: Sketch) -> bool:
    if any(fact not in kept.facts for fact in later.facts):
        return False
    one, other = kept.shingles, later.shingles
    shared = len(one & other)
    return shared >= LEAST * (len(one) + len(other) - shared)
