"""The errors of processes, for callers that want an exception.

CortexError
├── ProcessLoadError         the source is wrong, or a name in it is unknown
├── MissingValueError        a reference inside a text has no value when the text is made
└── SettlementError          a report about an effect does not fit the question
"""

from collections.abc import Sequence

from cortex.bus import CortexError, with_fields

from .diagnostics import Diagnostic


class ProcessLoadError(CortexError, ValueError):
    """The source of a process does not parse, validate, inherit or link."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(tuple(diagnostics))
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        return "\n".join(str(each) for each in self.diagnostics)


@with_fields
class MissingValueError(CortexError, LookupError):
    """A text refers to a value that the execution does not have."""

    reference: str

    says = (
        "{reference} has no value here: guard the step with "
        "`when: {reference} != null`, or pass the reference as the whole value"
    )


@with_fields
class SettlementError(CortexError, ValueError):
    """What is said of an effect of unknown outcome does not fit what is asked."""

    problem: str

    def __str__(self) -> str:
        return self.problem
