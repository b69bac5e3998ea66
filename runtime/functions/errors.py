"""What a decorated function raises for what it expects to go wrong.

CortexError
└── StepError              the step, gate, tool call or model call failed; the line says why
    └── EffectUnknownError     it was begun, and nobody can say how it ended
"""

from cortex.bus import CortexError


class StepError(CortexError):
    """What was asked for cannot be done; *problem* is the line that is recorded.

    Args:
        problem: What is, what was expected, and what to do.
        retry: False where another attempt cannot help.
        kind: One word for programs: "failed", "refused", "timeout", ... as in the event that tells.
        excerpt: What whoever tries again has to see, where the line does not hold it.
    """

    def __init__(
        self, problem: str, *, retry: bool = True, kind: str = "failed", excerpt: str = ""
    ) -> None:
        super().__init__(problem)
        self.problem, self.retry, self.kind, self.excerpt = problem, retry, kind, excerpt

    def __str__(self) -> str:
        return self.problem

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problem,), self.__dict__


class EffectUnknownError(StepError):
    """An effect was begun, and nobody can say how it ended: a person is asked."""
