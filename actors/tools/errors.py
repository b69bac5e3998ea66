"""What can go wrong when a tool is used.

CortexError
└── ToolError            the tool gives no result; the model is told why, and goes on
    ├── ToolRefusedError    what was asked for is not allowed here
    └── ToolUnknownError    it was begun, and nobody can say how it ended
"""

from cortex.bus import CortexError


class ToolError(CortexError):
    """The tool gives no result."""

    def __init__(self, problem: str, kind: str = "failed") -> None:
        super().__init__(problem, kind)
        self.problem, self.kind = problem, kind  # the kinds of `tool.failed`

    def __str__(self) -> str:
        return self.problem


class ToolRefusedError(ToolError):
    """What was asked for is not allowed here; asking again cannot help."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, "denied")
        self.args = (problem,)  # what this constructor takes, so that it pickles


class ToolUnknownError(ToolError):
    """It was begun, and nobody can say how it ended: a person is asked."""
