"""What can go wrong when a tool is used.

StepError
└── ToolError            the tool has no result; the model gets the reason, and continues
    ├── ToolRefusedError    the call is not allowed here
    └── ToolUnknownError    it began, and its end is unknown
"""

from cortex.runtime.functions import EffectUnknownError, StepError


class ToolError(StepError):
    """The tool has no result; the kinds are those of `tool.failed`."""

    def __init__(self, problem: str, kind: str = "failed") -> None:
        super().__init__(problem, kind=kind)


class ToolRefusedError(ToolError):
    """The call is not allowed here; a retry cannot help."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, "denied")


class ToolUnknownError(ToolError, EffectUnknownError):
    """The tool began, and its end is unknown: a person is asked."""
