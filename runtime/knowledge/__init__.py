"""Knowledge, first form: a dotted topic stands for one file, found narrowest first."""

from .errors import (
    KnowledgeError,
    KnowledgeTooLargeError,
    KnowledgeUnreadableError,
    TopicInvalidError,
)
from .index import TopicIndex
from .reading import Document, read_document
from .topics import NARROWEST_FIRST, Ambiguous, Resolved, Root, Scope, roots_of_home

__all__ = [
    "NARROWEST_FIRST",
    "Ambiguous",
    "Document",
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
