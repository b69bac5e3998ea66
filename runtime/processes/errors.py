"""What goes wrong around processes, for callers that want an exception.

ProcessError                 any of these
├── ProcessLoadError         the source is wrong, or something it names is not there
├── MissingValueError        a reference inside a text has no value when the text is made
└── SettlementError          what is said of an effect does not fit what is asked
"""

from collections.abc import Sequence

from cortex.bus import CortexError

from .diagnostics import Diagnostic


class ProcessError(CortexError):
    """Something is wrong with a process."""


class ProcessLoadError(ProcessError, ValueError):
    """The source of a process does not parse, validate, inherit or link."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(tuple(diagnostics))
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        return "\n".join(str(each) for each in self.diagnostics)


class MissingValueError(ProcessError, LookupError):
    """A text refers to a value that the execution does not have."""

    def __init__(self, reference: str) -> None:
        super().__init__(reference)
        self.reference = reference

    def __str__(self) -> str:
        return (
            f"{self.reference} has no value here: guard the step with "
            f"`when: {self.reference} != null`, or hand the reference over on its own"
        )


class SettlementError(ProcessError, ValueError):
    """What is said of an effect of unknown outcome does not fit what is asked."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return self.problem
