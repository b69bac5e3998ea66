"""What goes wrong on the command line.

CortexError
├── HubGoneError         the hub went away while an execution was followed
├── UnmatchedError       no process answers a trigger, or several do
└── UnwritableError      nothing can be recorded, so that an execution does not go on
"""

from cortex.bus import CortexError

from .exits import NOT_FOUND, UNUSABLE


class HubGoneError(CortexError):
    """The hub went away while an execution was followed, and did not come back."""

    exit_code = UNUSABLE

    def __init__(self, execution_id: str, url: str, problem: str) -> None:
        super().__init__(execution_id, url, problem)
        self.execution_id, self.url, self.problem = execution_id, url, problem

    def __str__(self) -> str:
        return (
            f"the hub at {self.url} is gone ({self.problem}), and execution {self.execution_id} "
            "continues when a hub is up again: `cortex up`, or `cortex execution resume "
            f"{self.execution_id}`"
        )


class UnmatchedError(CortexError):
    """No process was chosen for a trigger."""

    exit_code = NOT_FOUND

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class UnwritableError(CortexError):
    """Nothing can be recorded, so that an execution does not go on."""

    exit_code = UNUSABLE

    def __init__(self, execution_id: str, problem: str) -> None:
        super().__init__(execution_id, problem)
        self.execution_id, self.problem = execution_id, problem

    def __str__(self) -> str:
        return (
            f"execution {self.execution_id} waits, because nothing can be recorded "
            f"({self.problem}): make room, then `cortex execution resume {self.execution_id}`"
        )
