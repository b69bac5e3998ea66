"""What keeps a home from doing what it was asked for.

CortexError (in the bus)
├── ArgumentError        a value that was given does not fit
├── HubGoneError         the hub went away while an execution was followed
├── LeftOpenError        a person leaves a question open
├── RejectedError        a source of a process has errors
├── UnmatchedError       no process answers a trigger, or several do
├── UnwritableError      nothing can be recorded, so that an execution does not go on
└── WaitingError         an execution waits for an answer that nobody is there to give
"""

import signal

from cortex.bus import CortexError


class Terminated(SystemExit):
    """The program was told to end by SIGTERM; it does, once it has said what there is to say."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


class ArgumentError(CortexError):
    """A value that was given does not fit; nothing was recorded."""

    exit_code = 2  # the command line's for a wrong argument

    def __init__(self, problem: str, option: str = "") -> None:
        super().__init__(problem, option)
        self.problem, self.option = problem, option

    def __str__(self) -> str:
        return f"{self.option}: {self.problem}" if self.option else self.problem


class HubGoneError(CortexError):
    """The hub went away while an execution was followed, and did not come back."""

    exit_code = 4  # the command line's for what cannot be used

    def __init__(self, execution_id: str, url: str, problem: str) -> None:
        super().__init__(execution_id, url, problem)
        self.execution_id, self.url, self.problem = execution_id, url, problem

    def __str__(self) -> str:
        return (
            f"the hub at {self.url} is gone ({self.problem}), and execution {self.execution_id} "
            "continues when a hub is up again: `cortex up`, or `cortex execution resume "
            f"{self.execution_id}`"
        )


class LeftOpenError(CortexError):
    """A person leaves a question open."""


class RejectedError(CortexError):
    """A source of a process has errors; nothing was run."""

    def __init__(self, file: str, first: str, count: int) -> None:
        super().__init__(file, first, count)
        self.file, self.first, self.count = file, first, count

    def __str__(self) -> str:
        more = f" (and {self.count - 1} more)" if self.count > 1 else ""
        return f"{self.first}{more}: see `cortex process validate {self.file}`; nothing was run"


class UnmatchedError(CortexError):
    """No process was chosen for a trigger."""

    exit_code = 3  # the command line's for what is not there

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class UnwritableError(CortexError):
    """Nothing can be recorded, so that an execution does not go on."""

    exit_code = 4

    def __init__(self, execution_id: str, problem: str) -> None:
        super().__init__(execution_id, problem)
        self.execution_id, self.problem = execution_id, problem

    def __str__(self) -> str:
        return (
            f"execution {self.execution_id} waits, because nothing can be recorded "
            f"({self.problem}): make room, then `cortex execution resume {self.execution_id}`"
        )


class WaitingError(CortexError):
    """An execution waits for an answer that nobody is there to give."""

    exit_code = 5  # the command line's for what waits

    def __init__(
        self, execution_id: str, question: str, options: str = "--approve` or --deny"
    ) -> None:
        super().__init__(execution_id, question, options)
        self.execution_id, self.question, self.options = execution_id, question, options

    def __str__(self) -> str:
        return (
            f"execution {self.execution_id} asks: {self.question} -- answer with "
            f"`cortex execution resume {self.execution_id} {self.options}"
        )
