"""The passages of files and their full text, in one SQLite file."""

from .schema import meant_text
from .store import ChunkEntry, NewFile, PassageStore, StoredChunk, StoredFile, above_and_itself

__all__ = [
    "ChunkEntry",
    "NewFile",
    "PassageStore",
    "StoredChunk",
    "StoredFile",
    "above_and_itself",
    "meant_text",
]
