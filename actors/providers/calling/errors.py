"""What can go wrong while a model is asked.

CortexError
└── CallFailedError          there is no answer
"""

from cortex.bus import CortexError


class CallFailedError(CortexError):
    """There is no answer; the kind says whether asking again may help.

    The message holds no key, header, address or part of a prompt: it is recorded, and later
    attempts see it. An endpoint whose answer no honest one would be is `hostile`: it is not asked
    again, whatever the kind.
    """

    def __init__(
        self,
        kind: str,
        problem: str,
        retry_after_s: float | None = None,
        *,
        hostile: bool = False,
    ) -> None:
        super().__init__(kind, problem, retry_after_s)
        self.kind, self.problem, self.retry_after_s = kind, problem, retry_after_s
        self.hostile = hostile

    def __str__(self) -> str:
        return self.problem
