"""Postings of words from the full-text index, as arrays, and the neighbours of chunks."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from .bm25 import rarity
from .store import PassageStore, StoredChunk
from .words import STOPWORDS, names_in, words_of

Ids = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

COUNTED: Final = 60_000  # occurrences; for a more common word, frequency within a chunk is ignored
LARGE: Final = 20_000  # chunks, from where on
COMMON_SHARE: Final = 0.25  # a word in a larger share of them has no weight beside a rarer one
_TOKENS: Final = 4_096  # that are remembered with how they are written in the full text


class Near(NamedTuple):
    """How much the neighbours of a chunk count in its place."""

    shares: tuple[float, ...]  # of the next one, the one after it, ... to either side
    far_words: float  # beyond the next, a longer one counts less: it has many words by chance


class Postings:
    """A view of a store for one generation of it; made anew when that moved."""

    def __init__(self, store: PassageStore, stems: "Stems | None" = None) -> None:
        self._store = store
        self._stems = stems or Stems()
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
        self._last: tuple[Ids, Near, list[tuple[Ids, Values]]] | None = None
        self._found: dict[str, tuple[Ids, Values]] = {}
        self._among: dict[str, int] = {}
        self._phrases: dict[tuple[str, int], list[int]] = {}
        self._stored: dict[int, StoredChunk] = {}
        self._written: dict[int, str] = {}  # by the chunk
        self._names: dict[int, Mapping[str, str]] = {}  # by the chunk that has them
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
        return Postings(self._store, self._stems)

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
        if word not in self._found:
            if len(self._found) >= _TOKENS:
                self._found.clear()
            self._found[word] = self._read(word)
        return self._found[word]

    def with_phrase(self, phrase: str, most: int) -> list[int]:
        """The chunks that hold the words of *phrase* in a row; at most *most* of them."""
        found = self._phrases.get((phrase, most))
        if found is None:
            if len(self._phrases) >= _TOKENS:
                self._phrases.clear()
            rows = self._store.connection.execute(
                "select rowid from words where words match ? limit ?", (f'"{phrase}"', most)
            )
            found = self._phrases[phrase, most] = [row[0] for row in rows]
        return found

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

    def written(self, chunk: StoredChunk) -> str:
        """What *chunk* says below its heading, with one space between words."""
        found = self._written.get(chunk.id)
        if found is None:
            if len(self._written) >= _TOKENS:
                self._written.clear()
            found = self._written[chunk.id] = " ".join(f"{chunk.heading}\n{chunk.text}".split())
        return found

    def names(self, chunk: StoredChunk) -> Mapping[str, str]:
        """The names in *chunk*, as `names_in` gives them; who speaks, and when, leads nowhere."""
        found = self._names.get(chunk.id)
        if found is None:
            if len(self._names) >= _TOKENS:
                self._names.clear()
            if chunk.speaker:
                found = names_in(chunk.text.removeprefix(f"{chunk.speaker}: "))
            else:
                found = names_in(chunk.heading) | names_in(chunk.text)
            self._names[chunk.id] = found
        return found

    def among(self, word: str, most: int) -> int:
        """In how many chunks *word* occurs, counted up to *most* occurrences."""
        if word not in self._among:
            row = self._store.connection.execute(
                "select count(*) from (select 1 from occurrences where term = ? limit ?)",
                (self._stems.of(word), most),
            ).fetchone()
            self._among[word] = int(row[0])
        return self._among[word]

    def count(self, words: Sequence[str], most: int) -> None:
        """Count those of *words* that are not counted yet, as `among` would, together."""
        unknown = [word for word in words if word not in self._among]
        stems = self._stems.of_each(unknown)
        rows = self._store.connection.execute(
            "select key, (select count(*) from (select 1 from occurrences where term = value "
            "limit ?)) from json_each(?)",
            (most, json.dumps(stems)),
        )
        self._among |= {unknown[at]: among for at, among in rows}

    def words(self, chunk: StoredChunk) -> frozenset[str]:
        """The words of *chunk* that may say what it is about, each once."""
        found = self._words.get(chunk.id)
        if found is None:
            if len(self._words) >= _TOKENS:
                self._words.clear()
            told = frozenset(words_of(chunk.text)).difference(STOPWORDS)
            found = self._words[chunk.id] = frozenset(word for word in told if len(word) > 2)
        return found

    def spoken_by(self, name: str) -> Ids:
        """The turns of speakers whose name has the word *name*."""
        found = self._spoken.get(name)
        if found is None:
            if len(self._spoken) >= _TOKENS:
                self._spoken.clear()
            row = self._store.connection.execute(
                "select group_concat(chunk) from speakers where name = ?", (name,)
            ).fetchone()
            found = self._spoken[name] = _numbers(row[0])
        return found

    def weight(self, among: int) -> float:
        """The weight of a word that occurs in *among* chunks: the rarer, the higher."""
        # Occurrences are counted in place of chunks: in a small store there may be more of them.
        return rarity(max(self.chunks, among), among)

    def stem(self, word: str) -> str:
        """How the full text writes *word*."""
        return self._stems.of(word)

    def near(self, at: Ids, ids: Ids, values: Values, near: Near) -> Values:
        """At each chunk of *at*: its value and its neighbours' in the same file, by *near*."""
        scratch = self._scratch
        scratch[ids] = values
        found = scratch[at]
        for place, share in self._beside(at, near):
            found += share * scratch[place]
        scratch[ids] = 0.0
        return found

    def _beside(self, at: Ids, near: Near) -> list[tuple[Ids, Values]]:
        """The places of the neighbours of *at*, and their weights; 0 in another file."""
        if self._last is not None and self._last[0] is at and self._last[1] == near:
            return self._last[2]
        beside: list[tuple[Ids, Values]] = []
        own = self.file_of[at]
        for distance, share in enumerate(near.shares, 1):
            for step in (-distance, distance):
                place = np.clip(at + step, 0, len(self.file_of) - 1)
                # The last chunk has no next one: it is not its own neighbour.
                there = place == at + step
                weight = (there & (self.file_of[place] == own)).astype(np.float32)
                weight *= np.float32(share)
                if distance > 1:
                    weight *= near.far_words / np.maximum(self.lengths[place], near.far_words)
                beside.append((place, weight))
        self._last = (at, near, beside)
        return beside

    def _read(self, word: str) -> tuple[Ids, Values]:
        stem = self._stems.of(word)
        few = self.among(word, COUNTED + 1) <= COUNTED
        if few:
            row = self._store.connection.execute(
                "select group_concat(doc) from occurrences where term = ?", (stem,)
            ).fetchone()
        else:
            row = self._store.connection.execute(
                "select group_concat(rowid) from words where words match ?", (f'"{word}"',)
            ).fetchone()
        # They come in order: np.unique would sort them again.
        found = _numbers(row[0])
        starts = np.flatnonzero(np.diff(found, prepend=-1))
        counts = np.diff(starts, append=len(found))
        return found[starts], counts.astype(np.float32)


def among(wanted: Ids, ids: Ids) -> Mask:
    """Which of *wanted* are in *ids*, which ascend."""
    if not len(ids):
        return np.zeros(len(wanted), np.bool_)
    places = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    found: Mask = ids[places] == wanted
    return found


def _numbers(joined: str | None) -> Ids:
    # One string for all rows: a tuple a row costs ten times as much.
    return np.fromstring(joined or "", np.int64, sep=",")


class Stems:
    """How the full text's tokenizer writes a word: asked from a full text of that one word."""

    def __init__(self) -> None:
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
        if word not in self._known:
            if len(self._known) >= 1 << 16:
                self._known.clear()
            self._read([word])
        return self._known[word]

    def of_each(self, words: Sequence[str]) -> list[str]:
        """The same for each of *words*."""
        unknown = [word for word in words if word not in self._known]
        if len(self._known) + len(unknown) >= 1 << 16:
            self._known.clear()
            unknown = list(words)
        if unknown:
            self._read(unknown)
        return [self._known[word] for word in words]

    def _read(self, words: Sequence[str]) -> None:
        self._connection.executemany(
            "insert into words(rowid, text) values (?, ?)", enumerate(words)
        )
        found = self._connection.execute("select doc, term from terms order by offset desc")
        terms = dict(found.fetchall())  # the first of each
        self._connection.execute("insert into words(words) values ('delete-all')")
        self._known |= {word: str(terms.get(at, word)) for at, word in enumerate(words)}
