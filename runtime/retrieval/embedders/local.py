"""A sentence transformer as ONNX, run here by onnxruntime: the extra `embeddings`."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..errors import EmbedderError
from .embedder import Vectors, normalised

EXTRA: Final = "pip install 'cortex-runtime[embeddings]'"
WEIGHT: Final = 1.0  # as much as the words
ALIKE: Final = 0.25
LONGEST: Final = 256  # tokens; what such models were trained on
TOGETHER: Final = 32  # texts; of about the same length, so that little is padded
THREADS: Final = 2


class LocalEmbedder:
    """The model in a folder: `model.onnx`, or its only `*.onnx`, and `tokenizer.json`."""

    weight = WEIGHT
    alike = ALIKE

    def __init__(self, folder: Path, tokenizer: Path | None = None) -> None:
        self._model = _the_model(folder)
        self._tokenizer_path = tokenizer or folder / "tokenizer.json"
        if not self._tokenizer_path.is_file():
            raise EmbedderError(str(folder), "it has no tokenizer.json")
        self.name = f"onnx:{self._model.name}:{self._model.stat().st_size}"
        self._session: Any = None
        self._tokenizer: Any = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text.

        Raises:
            EmbedderError: onnxruntime or tokenizers is not installed, or cannot use the model.
        """
        if self._session is None:
            self._load()
        if not texts:
            return np.zeros((0, 1), np.float32)
        try:
            encoded = self._tokenizer.encode_batch(list(texts))
            order = sorted(range(len(texts)), key=lambda at: len(encoded[at].ids))
            parts = [
                self._run([encoded[at] for at in order[start : start + TOGETHER]])
                for start in range(0, len(order), TOGETHER)
            ]
        except Exception as error:
            raise EmbedderError(self.name, f"it failed: {str(error)[:200]}") from error
        rows = np.concatenate(parts)
        result = np.empty_like(rows)
        result[order] = rows
        return normalised(result)

    def _run(self, encoded: list[Any]) -> Vectors:
        longest = max(len(one.ids) for one in encoded)
        ids = np.zeros((len(encoded), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(encoded):
            ids[row, : len(one.ids)] = one.ids
            mask[row, : len(one.ids)] = 1
        wanted = {one.name for one in self._session.get_inputs()}
        fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {k: v for k, v in fed.items() if k in wanted})[0]
        if output.ndim == 3:  # one vector a token: their mean is the text's
            counted = mask[:, :, None].astype(np.float32)
            output = (output * counted).sum(1) / counted.sum(1)
        return np.asarray(output, np.float32)

    def _load(self) -> None:
        try:
            onnxruntime = importlib.import_module("onnxruntime")
            tokenizers = importlib.import_module("tokenizers")
        except ImportError as error:
            raise EmbedderError(self.name, f"{error.name} is not installed: {EXTRA}") from None
        try:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = THREADS
            options.log_severity_level = 3
            self._tokenizer = tokenizers.Tokenizer.from_file(str(self._tokenizer_path))
            self._tokenizer.enable_truncation(LONGEST)
            self._tokenizer.no_padding()
            self._session = onnxruntime.InferenceSession(
                str(self._model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise EmbedderError(self.name, f"it cannot be loaded: {str(error)[:200]}") from error


def _the_model(folder: Path) -> Path:
    found = sorted(folder.glob("*.onnx"))
    named = folder / "model.onnx"
    if named in found or len(found) == 1:
        return named if named in found else found[0]
    raise EmbedderError(str(folder), "a folder with model.onnx and tokenizer.json is expected")
