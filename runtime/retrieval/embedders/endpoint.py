"""A service that speaks OpenAI's `/embeddings`: hosted, or a local server."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from cortex.runtime.secrets import SecretUnavailableError, secret_value

from ..errors import EmbedderError
from .embedder import Vectors, normalised

WEIGHT: Final = 1.0
ALIKE: Final = 0.25
TOGETHER: Final = 64  # texts in one request
LARGEST_ANSWER: Final = 64 << 20


class EndpointEmbedder:
    """Asks the endpoint at *url*; the key is taken from the environment variable *key_from*."""

    weight = WEIGHT
    alike = ALIKE

    def __init__(self, url: str, model: str, key_from: str = "", timeout_s: float = 60.0) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise EmbedderError(url, "an http or https address is expected")
        self._url, self._model = url.rstrip("/"), model
        self._key_from, self._timeout_s = key_from, timeout_s
        self.name = f"endpoint:{model}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text.

        Raises:
            EmbedderError: It cannot be reached, or its answer does not follow the interface.
        """
        if not texts:
            return np.zeros((0, 1), np.float32)
        rows: list[list[float]] = []
        for start in range(0, len(texts), TOGETHER):
            rows.extend(self._ask(list(texts[start : start + TOGETHER])))
        try:
            return normalised(np.array(rows, np.float32))
        except ValueError:
            raise EmbedderError(self.name, "its vectors are not all of one length") from None

    def _ask(self, texts: list[str]) -> list[list[float]]:
        headers = {"Content-Type": "application/json"}
        if self._key_from:
            headers["Authorization"] = f"Bearer {_key(self.name, self._key_from)}"
        body = json.dumps({"model": self._model, "input": texts}).encode()
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked
            f"{self._url}/embeddings", body, headers, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as answer:  # noqa: S310
                told = json.loads(answer.read(LARGEST_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                raise EmbedderError(self.name, f"it answers {error.code} {error.reason}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise EmbedderError(self.name, f"it does not answer: {error}") from None
        return self._rows(told, len(texts))

    def _rows(self, told: Any, wanted: int) -> list[list[float]]:
        try:
            data = sorted(told["data"], key=lambda one: int(one["index"]))
            rows = [[float(x) for x in one["embedding"]] for one in data]
        except (KeyError, TypeError, ValueError):
            raise EmbedderError(self.name, "its answer holds no list `data` of vectors") from None
        if len(rows) != wanted:
            raise EmbedderError(self.name, f"it returned {len(rows)} vectors for {wanted} texts")
        return rows


def _key(embedder: str, reference: str) -> str:
    try:
        return secret_value(reference)
    except SecretUnavailableError as error:
        raise EmbedderError(embedder, str(error)) from None
