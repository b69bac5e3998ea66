"""What can go wrong when a tool is used.

StepError
└── ToolError            the tool gives no result; the model is told why, and goes on
    ├── ToolRefusedError    what was asked for is not allowed here
    └── ToolUnknownError    it was begun, and nobody can say how it ended
"""

from cortex.runtime.functions import EffectUnknownError, StepError


class ToolError(StepError):
    """The tool gives no result; the kinds are those of `tool.failed`."""

    def __init__(self, problem: str, kind: str = "failed") -> None:
        super().__init__(problem, kind=kind)


class ToolRefusedError(ToolError):
    """What was asked for is not allowed here; asking again cannot help."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, "denied")


class ToolUnknownError(ToolError, EffectUnknownError):
    """It was begun, and nobody can say how it ended: a person is asked."""
