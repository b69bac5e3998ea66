"""Knowledge: a dotted topic stands for one file, found narrowest first; all can be searched."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .errors import (
        EmbedderError,
        KnowledgeDiskError,
        KnowledgeError,
        KnowledgeTooLargeError,
        KnowledgeUnreadableError,
        QuestionTooLargeError,
        TopicInvalidError,
    )
    from .index import TopicIndex
    from .reading import Document, read_document
    from .settings import KnowledgeConfig
    from .topics import (
        NARROWEST_FIRST,
        Ambiguous,
        Resolved,
        Root,
        Scope,
        above_and_itself,
        roots_of_home,
    )
    from .watching import Shown, counts, shown
else:
    lazily(__name__)

__all__ = [
    "NARROWEST_FIRST",
    "Ambiguous",
    "Document",
    "EmbedderError",
    "KnowledgeConfig",
    "KnowledgeDiskError",
    "KnowledgeError",
    "KnowledgeTooLargeError",
    "KnowledgeUnreadableError",
    "QuestionTooLargeError",
    "Resolved",
    "Root",
    "Scope",
    "Shown",
    "TopicIndex",
    "TopicInvalidError",
    "above_and_itself",
    "counts",
    "read_document",
    "roots_of_home",
    "shown",
]
