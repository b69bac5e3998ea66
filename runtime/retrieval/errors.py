"""The errors of indexing and searching.

CortexError
└── RetrievalError
    ├── EmbedderError     an embedder is missing, or gives a wrong answer
    ├── StoreDiskError    the file of a store cannot be read or written
    └── KnowledgeError    (in the knowledge room) the input or the question is invalid
"""

from cortex.bus import CortexError


class RetrievalError(CortexError):
    """Something cannot be indexed, or not be looked for."""


class StoreDiskError(RetrievalError):
    """The file of a store cannot be read or written; what was in it before is unchanged."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return (
            f"the knowledge store {self.path} cannot be used: {self.problem}; make room or check "
            "its mode, then index again. The file may be deleted at any time"
        )


class EmbedderError(RetrievalError):
    """An embedder is not there, or does not answer as it should."""

    def __init__(self, embedder: str, problem: str) -> None:
        super().__init__(embedder, problem)
        self.embedder, self.problem = embedder, problem

    def __str__(self) -> str:
        return f"the embedder {self.embedder} cannot be used: {self.problem}"
