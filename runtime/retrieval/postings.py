"""Postings of words from the full-text index, as arrays, and the neighbours of chunks."""

import json
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from itertools import islice
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from .bm25 import rarity
from .store import PassageStore, StoredChunk
from .words import STOPWORDS, names_in, words_of

Ids = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

# Occurrences in a large store; for a more common word, frequency within a chunk is ignored.
COUNTED: Final = 60_000
LARGE: Final = 20_000  # chunks, from where on
COMMON_SHARE: Final = 0.25  # a word in a larger share of them has no weight beside a rarer one
BEGINNING: Final = 1_500  # characters, which few passages of a file have
_STEMS: Final = 1 << 16  # that are kept in a process
_TOKENS: Final = 4_096  # of which something is kept, for one generation of the store

Key = TypeVar("Key")
Value = TypeVar("Value")


class Near(NamedTuple):
    """How much the neighbours of a chunk count in its place."""

    shares: tuple[float, ...]  # of the next one, the one after it, ... to either side
    far_words: float  # beyond the next, a longer one counts less: it has many words by chance


class Postings:
    """A view of a store for one generation of it; made anew when that moved."""

    def __init__(self, store: PassageStore) -> None:
        self._store = store
        self._stems = _stems()
        self.generation = store.generation()
        self.files = store.files()
        firsts = np.array([file.first for file in self.files], np.int64)
        counts = np.array([file.chunks for file in self.files], np.int64)
        size = int((firsts + counts).max(initial=1))
        before = np.cumsum(counts) - counts
        self.live = np.repeat(firsts - before, counts) + np.arange(counts.sum())
        self.file_of = np.full(size, -1, np.int32)  # by chunk id: an index into `files`
        self.file_of[self.live] = np.repeat(np.arange(len(counts)), counts)
        self.lengths = np.zeros(size, np.float32)  # of each chunk, in words
        self.lengths[self.live] = np.frombuffer(b"".join(f.lengths for f in self.files), "<u2")
        self.chunks = len(self.live)
        self._scratch = np.zeros(size, np.float32)
        self._last: tuple[Ids, Near, tuple[Ids, Values]] | None = None
        self._found: dict[str, tuple[Ids, Values]] = {}
        self._among: dict[tuple[str, int], int] = {}
        self._phrases: dict[tuple[str, int], list[int]] = {}
        self._stored: dict[int, StoredChunk] = {}
        self._written: dict[int, str] = {}  # by the chunk
        self._writing: dict[tuple[str, int], list[int]] = {}
        self._names: dict[tuple[int, int], Mapping[str, str]] = {}  # by the chunk, and how many
        self._words: dict[int, frozenset[str]] = {}  # that count, by the chunk
        self._spoken: dict[str, Ids] = {}
        self._usual: dict[Near, float] = {}

    @cached_property
    def topics(self) -> tuple[list[str], Ids]:
        """All topics, each once, and for each file which of them is its own."""
        numbers: dict[str, int] = {}
        own = [numbers.setdefault(file.topic, len(numbers)) for file in self.files]
        return list(numbers), np.array(own, np.int64)

    def usual_length(self, near: Near) -> float:
        """The words of a usual chunk and its neighbours, which count by *near*."""
        if near not in self._usual:
            whole = self.near(self.live, self.live, self.lengths[self.live], near)
            self._usual[near] = float(whole.sum() / max(self.chunks, 1)) or 1.0
        return self._usual[near]

    def renewed(self) -> "Postings":
        """The view of the store as it is now."""
        return Postings(self._store)

    def gone(self, ids: Ids) -> int:
        """How many of *ids* are of chunks that are no more."""
        there = ids[ids < len(self.file_of)]
        return len(ids) - int(np.count_nonzero(self.file_of[there] >= 0))

    def each(self, ids: Ids) -> Ids:
        """Those of *ids* that can be a chunk's, ascending, each once."""
        # By marks, not np.unique: that sorts, or hashes, which takes ten times as long.
        marked = np.zeros(len(self.file_of), np.bool_)
        marked[ids[(ids >= 0) & (ids < len(marked))]] = True
        return np.flatnonzero(marked)

    def of(self, word: str) -> tuple[Ids, Values]:
        """The chunks in which *word* occurs, ascending, and how often in each."""
        return _kept(self._found, word, lambda: self._read(word))

    def with_phrase(self, phrase: str, most: int) -> list[int]:
        """The chunks that hold the words of *phrase* in a row; at most *most* of them."""

        def read() -> list[int]:
            rows = self._store.connection.execute(
                "select rowid from words where words match ? limit ?", (f'"{phrase}"', most)
            )
            return [row[0] for row in rows]

        return _kept(self._phrases, (phrase, most), read)

    def stored(self, ids: Sequence[int]) -> dict[int, StoredChunk]:
        """The chunks with *ids*, by id; one that is gone is left out."""
        known = self._stored
        unknown = [each for each in ids if each not in known]
        if unknown:
            if len(known) + len(unknown) > _TOKENS:
                known = self._stored = {}
                unknown = list(ids)
            known |= self._store.chunks(unknown)
        return {each: known[each] for each in ids if each in known}

    def writes(self, chunk: StoredChunk, name: str) -> bool:
        """Whether *chunk* has *name* just so, with one space between its words or a new line."""
        if name in chunk.text or name in chunk.heading:
            return True
        return " " in name and name in _kept(
            self._written, chunk.id, lambda: " ".join(f"{chunk.heading}\n{chunk.text}".split())
        )

    def writing(self, name: str, written: str, most: int) -> list[int]:
        """The chunks that hold the words of *name* in a row as *written*; see `with_phrase`."""

        def read() -> list[int]:
            # The full text knows no capitals: it finds the snow of winter for Hank Snow.
            chunks = self.stored(self.with_phrase(name, most)).values()
            return [chunk.id for chunk in chunks if self.writes(chunk, written)]

        return _kept(self._writing, (written, most), read)

    def names(self, chunk: StoredChunk, most: int) -> Mapping[str, str]:
        """The first names in *chunk*, as `names_in` gives them, at most *most*.

        Who speaks, and when, leads nowhere.
        """

        def read() -> dict[str, str]:
            if chunk.speaker:
                return names_in(chunk.text.removeprefix(f"{chunk.speaker}: "), most)
            found = names_in(chunk.heading, most) | names_in(chunk.text, most)
            return dict(islice(found.items(), most))

        return _kept(self._names, (chunk.id, most), read)

    def among(self, word: str, most: int) -> int:
        """In how many chunks *word* occurs, counted up to *most* occurrences."""
        if (word, most) not in self._among:
            row = self._store.connection.execute(
                "select count(*) from (select 1 from occurrences where term = ? limit ?)",
                (self._stems.of(word), most),
            ).fetchone()
            self._among[word, most] = int(row[0])
        return self._among[word, most]

    def count(self, words: Sequence[str], most: int) -> None:
        """Count those of *words* that are not counted yet, as `among` would, together."""
        unknown = [word for word in words if (word, most) not in self._among]
        # In a large store all occurrences of a common word are too many to count.
        often = "min(cnt, ?) from vocabulary where term = value"
        if self.chunks >= LARGE:
            often = "count(*) from (select 1 from occurrences where term = value limit ?)"
        rows = self._store.connection.execute(
            f"select key, coalesce((select {often}), 0) from json_each(?)",  # noqa: S608  # both are ours
            (most, json.dumps(self._stems.of_each(unknown))),
        )
        self._among |= {(unknown[at], most): among for at, among in rows}

    def words(self, chunk: StoredChunk) -> frozenset[str]:
        """The words at the beginning of *chunk* that may say what it is about, each once."""

        def read() -> frozenset[str]:
            told = frozenset(words_of(chunk.text[:BEGINNING])).difference(STOPWORDS)
            return frozenset([word for word in told if len(word) > 2])

        return _kept(self._words, chunk.id, read)

    def spoken_by(self, name: str) -> Ids:
        """The turns of speakers whose name has the word *name*."""

        def read() -> Ids:
            row = self._store.connection.execute(
                "select group_concat(chunk) from speakers where name = ?", (name,)
            ).fetchone()
            return _numbers(row[0])

        return _kept(self._spoken, name, read)

    def weight(self, among: int) -> float:
        """The weight of a word that occurs in *among* chunks: the rarer, the higher."""
        # Occurrences are counted in place of chunks: in a small store there may be more of them.
        return rarity(max(self.chunks, among), among)

    def stem(self, word: str) -> str:
        """How the full text writes *word*."""
        return self._stems.of(word)

    def stems(self, words: Sequence[str]) -> list[str]:
        """The same for each of *words*, which costs less together."""
        return self._stems.of_each(words)

    def beside(self, at: Ids, steps: Sequence[int]) -> tuple[Ids, Mask]:
        """The places so many *steps* behind each of *at*, and whether they are in the same file.

        One row a step. A place that is no chunk's is 0, and not there.
        """
        places = np.add.outer(np.array(steps, np.int64), at)
        there = (places >= 0) & (places < len(self.file_of))
        places[~there] = 0
        there &= self.file_of[places] == self.file_of[at]
        return places, there

    def near(self, at: Ids, ids: Ids, values: Values, near: Near) -> Values:
        """At each chunk of *at*: its value and its neighbours' in the same file, by *near*."""
        scratch = self._scratch
        scratch[ids] = values
        places, weights = self._weighed(at, near)
        found: Values = (scratch[places] * weights).sum(axis=0)
        scratch[ids] = 0.0
        return found

    def _weighed(self, at: Ids, near: Near) -> tuple[Ids, Values]:
        """The places of *at* and of their neighbours, and their weights; 0 in another file.

        One row a step: 0, -1, 1, -2, 2, ...
        """
        if self._last is not None and self._last[0] is at and self._last[1] == near:
            return self._last[2]
        steps = [0, *(step for far in range(1, len(near.shares) + 1) for step in (-far, far))]
        places, there = self.beside(at, steps)
        weights = there.astype(np.float32)
        for row, step in enumerate(steps[1:], 1):
            weights[row] *= np.float32(near.shares[abs(step) - 1])
        far = self.lengths[places[3:]]
        weights[3:] *= near.far_words / np.maximum(far, near.far_words)
        self._last = (at, near, (places, weights))
        return places, weights

    def _read(self, word: str) -> tuple[Ids, Values]:
        stem = self._stems.of(word)
        if self.chunks < LARGE or self.among(word, COUNTED + 1) <= COUNTED:
            row = self._store.connection.execute(
                "select group_concat(doc) from occurrences where term = ?", (stem,)
            ).fetchone()
        else:
            row = self._store.connection.execute(
                "select group_concat(rowid) from words where words match ?", (f'"{word}"',)
            ).fetchone()
        # They come in order: np.unique would sort them again.
        found = _numbers(row[0])
        starts = np.flatnonzero(np.concatenate([found[:1] >= 0, found[1:] != found[:-1]]))
        ends = np.concatenate([starts[1:], np.array([len(found)])]) if len(found) else starts
        return found[starts], (ends - starts).astype(np.float32)


def _kept(known: dict[Key, Value], key: Key, make: Callable[[], Value]) -> Value:
    """What *make* makes, kept in *known* beside at most `_TOKENS` others."""
    found = known.get(key)
    if found is None:
        if len(known) >= _TOKENS:
            known.clear()
        found = known[key] = make()
    return found


def among(wanted: Ids, ids: Ids) -> Mask:
    """Which of *wanted* are in *ids*, which ascend."""
    if not len(ids):
        return np.zeros(wanted.shape, np.bool_)
    places = ids.searchsorted(wanted)
    found: Mask = ids[np.minimum(places, len(ids) - 1)] == wanted
    return found


def _numbers(joined: str | None) -> Ids:
    # One string for all rows: a tuple a row costs ten times as much.
    return np.fromstring(joined or "", np.int64, sep=",")


class Stems:
    """How the full text's tokenizer writes a word: asked from a full text of that one word.

    Any thread may ask.
    """

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self._known: dict[str, str] = {}
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._connection.execute(
            "create virtual table words using fts5("
            "text, content='', tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._connection.execute("create virtual table terms using fts5vocab(words, 'instance')")

    def of(self, word: str) -> str:
        """How *word* is written there."""
        found = self._known.get(word)
        return self._read([word])[word] if found is None else found

    def of_each(self, words: Sequence[str]) -> list[str]:
        """The same for each of *words*."""
        known = self._known
        unknown = [word for word in words if word not in known]
        fresh = self._read(unknown) if unknown else {}
        return [fresh[word] if word in fresh else known[word] for word in words]

    def _read(self, words: Sequence[str]) -> dict[str, str]:
        with self._reading:
            # One transaction, which is taken back: each by itself takes four times as long.
            self._connection.execute("begin")
            try:
                self._connection.executemany(
                    "insert into words(rowid, text) values (?, ?)", enumerate(words)
                )
                found = self._connection.execute("select doc, term from terms order by offset desc")
                terms = dict(found.fetchall())  # the first of each
            finally:
                self._connection.execute("rollback")
            made = {word: str(terms.get(at, word)) for at, word in enumerate(words)}
            if len(self._known) + len(made) >= _STEMS:
                self._known = {}  # not emptied: another thread may read it
            self._known.update(made)
        return made


@cache
def _stems() -> Stems:
    """Those of the process: what a word becomes depends on no store."""
    return Stems()
