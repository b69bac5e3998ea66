"""Vectors of chunks in faiss: eight bits a number, in the order of the chunks' ids.

Only ever added to: a chunk that is gone is masked until so many are that the file is made anew. It
can be rebuilt from the store at any time, and is, where it is damaged or another embedder's.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import faiss
import numpy as np

from .certainty import UNRELATED
from .embedders import Embedder
from .embedders.embedder import Vectors, WordEmbedder
from .errors import EmbedderError
from .postings import Ids, Postings, Values
from .store import PassageStore, meant_text
from .vector_file import VectorFile
from .words import asked_words

MEANING: Final = 0.5  # weight of an embedder from where on it knows more than the words
TOGETHER: Final = 512  # chunks that are embedded at once
# Vectors; above, an inverted file decides which are looked at, where meaning puts any forward.
EXHAUSTIVE: Final = 100_000
LISTS: Final = 1_024
PROBES: Final = 16
TRAINED_ON: Final = 50_000  # vectors
DEAD_SHARE: Final = 0.25  # from where on it is made anew
SAMPLE: Final = 1_000  # vectors that say what likeness is usual
NEW_SHARE: Final = 0.1  # of the vectors, from where on chance is measured again
# Of cosines: passages of a store that is small, or says the same all over, differ by chance.
LEAST_DEVIATION: Final = 0.02
RANGE: Final = 0.5  # of a number in a vector of length 1; what is beyond is cut

# Its threads spin while they wait for each other, beside a runtime's own: one is quicker.
faiss.omp_set_num_threads(1)


class VectorIndex:
    """The vectors of one store by one embedder; `update` brings them to the store."""

    def __init__(self, path: Path, embedder: Embedder, identity: int) -> None:
        self._embedder = embedder
        self._file = VectorFile(path, embedder.name, identity)
        self._centres: Any = None
        self._sample: Vectors | None = None
        self._sampled = 0  # how many vectors there were then
        self._unrelated: Vectors | None = None  # what questions mean that nothing here answers
        self._chance: tuple[float, float] | None = None  # mean and deviation of what they find
        self._measured = 0  # how many vectors there were then
        loaded = self._file.load()
        self._index: Any = loaded.index
        self.ids: Ids = loaded.ids
        self.rebuilt = loaded.rebuilt  # why what was there was thrown away; "" where it was not

    @property
    def weight(self) -> float:
        """How much likeness counts beside the words."""
        return self._embedder.weight

    @property
    def alike(self) -> float:
        """The cosine above which likeness is more than chance."""
        return self._embedder.alike

    def missing(self, postings: Postings) -> int:
        """How many chunks have no vector yet."""
        return int(np.count_nonzero(postings.live > self._through))

    def update(self, store: PassageStore, postings: Postings, most: int | None = None) -> int:
        """Embed what has no vector, at most *most* chunks; how many were embedded.

        Raises:
            EmbedderError: The embedder is not there, or does not answer as it should.
            StoreDiskError: The disk did not take them.
        """
        if postings.gone(self.ids) > DEAD_SHARE * max(len(self.ids), TOGETHER):
            self._forget("")
        if self._index is not None:  # another process may have embedded what is new
            self.ids = self._file.catch_up(self._index, self.ids)
        done = 0
        while most is None or done < most:
            chunks = store.chunks_after(self._through, TOGETHER)
            if not chunks:
                break
            texts = [meant_text(chunk.heading, chunk.text, chunk.speaker) for chunk in chunks]
            vectors = self._embedder.embed(texts)
            self._add(np.array([chunk.id for chunk in chunks], np.int64), vectors)
            done += len(chunks)
        if done:
            self._grow()
        if self._index is not None and self._file.is_behind:  # or the disk was full the last time
            self._file.keep(self._index, self.ids)
        return done

    def query(self, text: str) -> Vectors:
        """The vector of a question.

        Raises:
            EmbedderError: The embedder is not there, or its vectors have another length.
        """
        vector: Vectors = self._embedder.embed([text])[0]
        if self._index is not None and len(vector) != self._index.d:
            self._forget(f"its vectors have {len(vector)} numbers now, not {self._index.d}")
            raise EmbedderError(self._embedder.name, f"{self.rebuilt}: index again")
        return vector

    def query_by_rarity(self, text: str, postings: Postings) -> Vectors | None:
        """The vector of a question whose rare words count more; None where it is not by words.

        Raises:
            EmbedderError: The embedder is not there.
        """
        if not isinstance(self._embedder, WordEmbedder):
            return None
        # Only of the question: a weight in the passages' vectors would change with every file.
        words = asked_words(text)
        weights = {word: postings.weight(len(postings.of(word)[0])) for word in words}
        return self._embedder.weighted(weights) if weights else None

    def similar(self, vector: Vectors, most: int) -> Ids:
        """The ids of the chunks most like *vector*; some may be gone."""
        if not len(self.ids):
            return self.ids
        _, found = self._index.search(vector[None], min(most, len(self.ids)))
        ids: Ids = self.ids[found[0][found[0] >= 0]]
        return ids

    def likeness(self, at: Ids, vectors: Sequence[Vectors]) -> list[Values]:
        """The cosines of the chunks of *at* with each of *vectors*; `usual` where there is none."""
        places, known = self.places(at)
        cosines = self._cosines(places, vectors)
        if known.all():
            return cosines
        found: list[Values] = []
        for vector, those in zip(vectors, cosines, strict=True):
            usual, _ = self.usual(vector)
            scores = np.full(len(at), usual, np.float32)
            scores[known] = those
            found.append(scores)
        return found

    def _cosines(self, places: Ids, vectors: Sequence[Vectors]) -> list[Values]:
        if hasattr(self._index, "nprobe"):
            rows = self._take(places)
            return [_products(rows, vector) for vector in vectors]
        # The codes as they stand: to make numbers of them first would take four times as long.
        size = self._index.d
        codes = faiss.rev_swig_ptr(self._index.codes.data(), len(self.ids) * size)
        near = codes.reshape(-1, size)[places].astype(np.float32)
        return [
            (_products(near, vector) + np.float32(0.5 * vector.sum())) * np.float32(2 * RANGE / 255)
            - np.float32(RANGE * vector.sum())
            for vector in vectors
        ]

    def usual(self, vector: Vectors) -> tuple[float, float]:
        """The mean of all cosines with *vector*, and their deviation, by a sample."""
        cosines = _products(self._sampled_vectors(), vector)
        return float(cosines.mean()), max(float(cosines.std()), LEAST_DEVIATION)

    def measure_chance(self) -> None:
        """Learn what questions find that nothing here answers; again when a tenth is new.

        Raises:
            EmbedderError: The embedder is not there, or does not answer as it should.
        """
        count = len(self.ids)
        if self.weight < MEANING or abs(count - self._measured) <= self._measured * NEW_SHARE:
            return
        if self._unrelated is None:
            self._unrelated = self._embedder.embed(UNRELATED)
        found, _ = self._index.search(self._unrelated, 1)
        deviation = max(float(found.std()), LEAST_DEVIATION)
        self._chance, self._measured = (float(found.mean()), deviation), count

    def beyond_chance(self, cosines: Values) -> float | None:
        """How far the best of *cosines* is beyond what nothing finds, in deviations from it.

        None where the embedder knows word parts only.
        """
        if self._chance is None or not len(cosines):
            return None
        mean, deviation = self._chance
        return (float(cosines.max()) - mean) / deviation

    def spelling(self, cosines: Values) -> float:
        """The best of *cosines* where it says that words look alike, and that is no chance."""
        best = float(cosines.max(initial=0.0))
        return best if self.weight < MEANING and best > self.alike else 0.0

    def _sampled_vectors(self) -> Vectors:
        if self._sample is None or self._sampled != len(self.ids):
            count = min(SAMPLE, len(self.ids))
            places = np.linspace(0, len(self.ids) - 1, count).astype(np.int64)
            self._sample, self._sampled = self._take(places), len(self.ids)
        return self._sample

    def places(self, at: Ids) -> tuple[Ids, Any]:
        """Where the vectors of *at* stand, and which of *at* have one."""
        places = np.searchsorted(self.ids, at)
        known = places < len(self.ids)
        known[known] = self.ids[places[known]] == at[known]
        return places[known], known

    def vectors(self, at: Ids, dimension: int) -> Vectors:
        """The vectors of *at*, a row each; zeros where there is none."""
        rows = np.zeros((len(at), dimension), np.float32)
        if len(self.ids):
            places, known = self.places(at)
            rows[known] = self._take(places)
        return rows

    @property
    def _through(self) -> int:
        return int(self.ids[-1]) if len(self.ids) else 0

    def _take(self, places: Ids) -> Vectors:
        rows: Vectors = self._index.reconstruct_batch(np.ascontiguousarray(places))
        return rows

    def _add(self, ids: Ids, vectors: Vectors) -> None:
        if self._index is None:
            self._index = faiss.IndexScalarQuantizer(
                vectors.shape[1], faiss.ScalarQuantizer.QT_8bit_uniform, faiss.METRIC_INNER_PRODUCT
            )
            # A fixed range, or the first batch would decide how all are stored.
            edge = np.full((1, vectors.shape[1]), RANGE, np.float32)
            self._index.train(np.concatenate([edge, -edge]))
        elif vectors.shape[1] != self._index.d:
            self._forget(f"its vectors have {vectors.shape[1]} numbers now, not {self._index.d}")
            raise EmbedderError(self._embedder.name, f"{self.rebuilt}: index again")
        self._file.add(self._through, ids, vectors)
        self._index.add(np.ascontiguousarray(vectors))
        self.ids = np.concatenate([self.ids, ids])

    def _grow(self) -> None:
        """Beyond what is looked through whole: vectors by their nearest of some centres."""
        flat_is_enough = len(self.ids) <= EXHAUSTIVE or self.weight < MEANING
        if flat_is_enough or hasattr(self._index, "nprobe"):
            return
        flat, size = self._index, self._index.d
        quantizer = faiss.IndexFlatIP(size)
        index = faiss.IndexIVFScalarQuantizer(
            quantizer, size, LISTS, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
        )
        self._centres = quantizer  # the index does not keep it alive
        sample = np.linspace(0, len(self.ids) - 1, TRAINED_ON).astype(np.int64)
        index.train(flat.reconstruct_batch(sample))
        index.make_direct_map()
        for start in range(0, len(self.ids), TRAINED_ON):
            size = min(TRAINED_ON, len(self.ids) - start)
            index.add(flat.reconstruct_n(start, size))
        index.nprobe = PROBES
        self._index = index
        self._file.renew()

    def _forget(self, why: str) -> None:
        self._index, self.ids, self._sample = None, np.zeros(0, np.int64), None
        self._chance, self._measured = None, 0
        self.rebuilt = why or self.rebuilt
        self._file.renew()


def _products(rows: Vectors, vector: Vectors) -> Values:
    # Not by `@`: its threads spin while they wait for each other.
    products: Values = np.einsum("ij,j->i", rows, vector)
    return products
