"""Knowledge: a dotted topic stands for one file, found narrowest first; all can be searched."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .errors import (
        KnowledgeError,
        KnowledgeTooLargeError,
        KnowledgeUnreadableError,
        QuestionTooLargeError,
        TopicInvalidError,
    )
    from .index import TopicIndex
    from .indexing import Indexed, IndexedFile, index
    from .knowledge import Knowledge, Statistics, embedder_of
    from .reading import Document, convert, read_document
    from .settings import KnowledgeConfig
    from .topics import Ambiguous, Resolved, Root, Scope, roots_of_home
    from .watching import Shown, counts, shown
else:
    lazily(__name__)

__all__ = [
    "Ambiguous",
    "Document",
    "Indexed",
    "IndexedFile",
    "Knowledge",
    "KnowledgeConfig",
    "KnowledgeError",
    "KnowledgeTooLargeError",
    "KnowledgeUnreadableError",
    "QuestionTooLargeError",
    "Resolved",
    "Root",
    "Scope",
    "Shown",
    "Statistics",
    "TopicIndex",
    "TopicInvalidError",
    "convert",
    "counts",
    "embedder_of",
    "index",
    "read_document",
    "roots_of_home",
    "shown",
]
