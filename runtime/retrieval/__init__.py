"""Retrieval: one tokenizer, chunker, BM25, vector index and ranking for every text."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .blocks import CODE_SUFFIXES
    from .bm25 import Bm25, TextCounts, TextScores, rarity
    from .certainty import SHOWN, SURE
    from .chunks import Chunk, chunks_of, chunks_of_lines
    from .embedders import (
        Embedder,
        EndpointEmbedder,
        HashingEmbedder,
        LocalEmbedder,
        StaticEmbedder,
    )
    from .errors import EmbedderError, RetrievalError, StoreDiskError
    from .finder import Finder, Passage, SearchResult, fused
    from .near_duplicates import Remembered, near_duplicates
    from .occurrences import Occurrences, Places
    from .packing import MOST_PASSAGES, TOKENS, by_file, heading_line, packed, written
    from .postings import Near
    from .ranking import WEIGHTS, Weights
    from .records import RecordFinder, RecordPart, RecordText
    from .store import ChunkEntry, NewFile, PassageStore, StoredFile, above_and_itself
    from .walk import Identity, Walk, identity_of, is_inside, leads_to_itself, listed
    from .words import STOPWORDS, content_words, names_in, plain, stem, words_of
else:
    lazily(__name__)

__all__ = [
    "CODE_SUFFIXES",
    "MOST_PASSAGES",
    "SHOWN",
    "STOPWORDS",
    "SURE",
    "TOKENS",
    "WEIGHTS",
    "Bm25",
    "Chunk",
    "ChunkEntry",
    "Embedder",
    "EmbedderError",
    "EndpointEmbedder",
    "Finder",
    "HashingEmbedder",
    "Identity",
    "LocalEmbedder",
    "Near",
    "NewFile",
    "Occurrences",
    "Passage",
    "PassageStore",
    "Places",
    "RecordFinder",
    "RecordPart",
    "RecordText",
    "Remembered",
    "RetrievalError",
    "SearchResult",
    "StaticEmbedder",
    "StoreDiskError",
    "StoredFile",
    "TextCounts",
    "TextScores",
    "Walk",
    "Weights",
    "above_and_itself",
    "by_file",
    "chunks_of",
    "chunks_of_lines",
    "content_words",
    "fused",
    "heading_line",
    "identity_of",
    "is_inside",
    "leads_to_itself",
    "listed",
    "names_in",
    "near_duplicates",
    "packed",
    "plain",
    "rarity",
    "stem",
    "words_of",
    "written",
]
