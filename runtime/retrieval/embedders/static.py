"""A table with one vector a token, whose mean is a text's meaning: the extra `static`.

The table and its tokenizer are files of the package `wordllama`, 16 MB, of which nothing else is
used: no model runs, and nothing is downloaded.
"""

import importlib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np

from ..errors import EmbedderError
from ..words import words_of
from .by_word import WordVectors
from .embedder import Vectors

PACKAGE: Final = "wordllama"
EXTRA: Final = "pip install 'cortex-runtime[static]'"
TABLE: Final = "weights/l2_supercat_256.safetensors"
TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
WEIGHT: Final = 0.5  # it knows similar words, and not the meaning of a sentence
ALIKE: Final = 0.35


class StaticEmbedder:
    """The mean of the vectors of the tokens of a text's words."""

    weight = WEIGHT
    alike = ALIKE

    def __init__(self) -> None:
        folder = _folder()
        if folder is None:
            raise EmbedderError("static", f"{PACKAGE} is not installed: {EXTRA}")
        self._table_path, self._tokenizer_path = folder / TABLE, folder / TOKENIZER
        self.name = f"static:{self._table_path.stem}"
        self._words: WordVectors | None = None

    @staticmethod
    def is_installed() -> bool:
        """Whether its table is here."""
        folder = _folder()
        return folder is not None and (folder / TABLE).is_file()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text.

        Raises:
            EmbedderError: The files of the package are not as they were.
        """
        return self._loaded().of([words_of(text) for text in texts])

    def weighted(self, words: Mapping[str, float]) -> Vectors:
        """The vector of all *words*, each by its weight.

        Raises:
            EmbedderError: The files of the package are not as they were.
        """
        return self._loaded().weighted(words)

    def _loaded(self) -> WordVectors:
        if self._words is None:
            self._words = self._load()
        return self._words

    def _load(self) -> WordVectors:
        try:
            numpy_files = importlib.import_module("safetensors.numpy")
            tokenizers = importlib.import_module("tokenizers")
            (table,) = numpy_files.load_file(self._table_path).values()
            tokenizer = tokenizers.Tokenizer.from_file(str(self._tokenizer_path))
            tokenizer.no_padding()
        except Exception as error:
            raise EmbedderError(self.name, f"it cannot be loaded: {str(error)[:200]}") from error

        def made(words: list[str]) -> Vectors:
            rows = np.zeros((len(words), table.shape[1]), np.float32)
            for row, one in zip(rows, tokenizer.encode_batch(words), strict=True):
                row[:] = table[one.ids[1:]].sum(axis=0, dtype=np.float32)  # the first opens a text
            return rows

        return WordVectors(table.shape[1], made)


def _folder() -> Path | None:
    spec = find_spec(PACKAGE)  # which imports nothing
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None
