"""Knowledge: a dotted topic stands for one file, found narrowest first; all can be searched."""

from .errors import (
    EmbedderError,
    KnowledgeDiskError,
    KnowledgeError,
    KnowledgeTooLargeError,
    KnowledgeUnreadableError,
    TopicInvalidError,
)
from .index import TopicIndex
from .reading import Document, read_document
from .settings import KnowledgeConfig
from .topics import NARROWEST_FIRST, Ambiguous, Resolved, Root, Scope, roots_of_home

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
    "Resolved",
    "Root",
    "Scope",
    "TopicIndex",
    "TopicInvalidError",
    "read_document",
    "roots_of_home",
]
