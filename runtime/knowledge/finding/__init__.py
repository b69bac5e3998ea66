"""The knowledge store: what stands in files, cut, indexed and found by what is asked."""

from .chunks import Chunk, chunks_of
from .converting import convert
from .embedders import Embedder, EndpointEmbedder, HashingEmbedder, LocalEmbedder
from .finder import Finder, Found, Passage
from .indexing import Indexed, IndexedFile, index
from .knowledge import Knowledge, Statistics, embedder_of
from .ranking import WEIGHTS, Weights
from .records import Record, RecordFinder
from .store import Entry, KnowledgeStore, NewFile

__all__ = [
    "WEIGHTS",
    "Chunk",
    "Embedder",
    "EndpointEmbedder",
    "Entry",
    "Finder",
    "Found",
    "HashingEmbedder",
    "Indexed",
    "IndexedFile",
    "Knowledge",
    "KnowledgeStore",
    "LocalEmbedder",
    "NewFile",
    "Passage",
    "Record",
    "RecordFinder",
    "Statistics",
    "Weights",
    "chunks_of",
    "convert",
    "embedder_of",
    "index",
]
