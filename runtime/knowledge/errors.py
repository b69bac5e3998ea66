"""What can go wrong when a topic is looked up or read.

RetrievalError
└── KnowledgeError
    ├── TopicInvalidError         what was asked for is not a topic
    ├── KnowledgeTooLargeError    the file is over the bound
    ├── KnowledgeUnreadableError  the file is no text, or cannot be read
    └── QuestionTooLargeError     what is asked is over a bound
"""

from cortex.runtime.retrieval import RetrievalError


class KnowledgeError(RetrievalError):
    """Knowledge cannot be had as it was asked for."""


class TopicInvalidError(KnowledgeError, ValueError):
    """What was asked for is not a topic."""

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.topic = topic

    def __str__(self) -> str:
        return (
            f"{self.topic!r} is not a topic: write names of letters, digits, '_' and '-' "
            "joined by dots, as in engineering.testing"
        )


class KnowledgeTooLargeError(KnowledgeError):
    """The file behind a topic is over the bound."""

    def __init__(self, path: str, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(path, size_bytes, limit_bytes)
        self.path, self.size_bytes, self.limit_bytes = path, size_bytes, limit_bytes

    def __str__(self) -> str:
        return (
            f"{self.path} has {self.size_bytes:,} bytes, a knowledge file may have "
            f"{self.limit_bytes:,}: split it into several topics"
        )


class KnowledgeUnreadableError(KnowledgeError):
    """The file behind a topic is no text, or cannot be read."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"{self.path} cannot be used as knowledge: {self.problem}"


class QuestionTooLargeError(KnowledgeError):
    """What is asked is over a bound; nothing was looked at."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return self.problem
