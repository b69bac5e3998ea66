"""What a decorated function raises for what it expects to go wrong.

CortexError
└── StepError              the step, gate, tool call or model call failed; the line says why
    └── EffectUnknownError     it began, and its end is unknown
"""

from typing import Protocol, Self

from cortex.bus import CortexError


class Failure(Protocol):
    """An error that knows what it means to a step."""

    @property
    def kind(self) -> str:
        """One word for programs."""
        ...

    @property
    def retry(self) -> bool:
        """Whether another attempt can help."""
        ...


class StepError(CortexError):
    """What was asked for cannot be done; *problem* is the line that is recorded.

    Args:
        problem: What is, what was expected, and what to do.
        retry: False where another attempt cannot help.
        kind: One word for programs: "failed", "refused", "timeout", ... as in the event that tells.
        excerpt: Information for a retry that is not in the line.
    """

    def __init__(
        self, problem: str, *, retry: bool = True, kind: str = "failed", excerpt: str = ""
    ) -> None:
        super().__init__(problem)
        self.problem, self.retry, self.kind, self.excerpt = problem, retry, kind, excerpt

    @classmethod
    def of(cls, error: Failure, problem: str = "") -> Self:
        """The failure of the step that met *error*; *problem* says it in other words."""
        return cls(problem or str(error), retry=error.retry, kind=error.kind)

    def __str__(self) -> str:
        return self.problem

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problem,), self.__dict__


class EffectUnknownError(StepError):
    """An effect began, and its end is unknown: a person is asked."""
