"""Embedders: texts to vectors, without a model, by a small one here, or by a service."""

from .embedder import Embedder
from .endpoint import EndpointEmbedder
from .hashing import HashingEmbedder
from .local import LocalEmbedder

__all__ = ["Embedder", "EndpointEmbedder", "HashingEmbedder", "LocalEmbedder"]
