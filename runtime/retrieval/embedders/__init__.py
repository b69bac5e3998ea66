"""Embedders: texts to vectors, without a model, by a table, a small model or a service."""

from .embedder import Embedder
from .endpoint import EndpointEmbedder
from .hashing import HashingEmbedder
from .local import LocalEmbedder
from .static import StaticEmbedder

__all__ = ["Embedder", "EndpointEmbedder", "HashingEmbedder", "LocalEmbedder", "StaticEmbedder"]
