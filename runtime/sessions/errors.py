"""The errors of sessions.

CortexError (in the bus)
├── ArgumentError        a given value does not fit
├── HubGoneError         the hub went away while an execution was followed
├── LeftOpenError        a person leaves a question open
├── RejectedError        a source of a process has errors
├── UnmatchedError       no process answers a trigger, or several do
├── UnwritableError      nothing can be recorded, so no execution continues
└── WaitingError         an execution waits for an answer, and nobody can be asked
"""

import signal

from cortex.bus import CortexError, with_fields


class Terminated(SystemExit):
    """The program received SIGTERM; it ends after it has printed where things stand."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


@with_fields
class ArgumentError(CortexError):
    """A value that was given does not fit; nothing was recorded."""

    exit_code = 2  # the command line's for a wrong argument

    problem: str
    option: str = ""

    def __str__(self) -> str:
        return f"{self.option}: {self.problem}" if self.option else self.problem


@with_fields
class HubGoneError(CortexError):
    """The hub went away while an execution was followed, and did not come back."""

    exit_code = 4  # the command line's for what cannot be used

    execution_id: str
    url: str
    problem: str

    says = (
        "the hub at {url} is gone ({problem}), and execution {execution_id} "
        "continues when a hub is up again: `cortex up`, or `cortex execution resume "
        "{execution_id}`"
    )


class LeftOpenError(CortexError):
    """A person leaves a question open."""


@with_fields
class RejectedError(CortexError):
    """A source of a process has errors; nothing was run."""

    file: str
    first: str
    count: int

    def __str__(self) -> str:
        more = f" (and {self.count - 1} more)" if self.count > 1 else ""
        return f"{self.first}{more}: see `cortex process validate {self.file}`; nothing was run"


@with_fields
class UnmatchedError(CortexError):
    """No process was chosen for a trigger."""

    exit_code = 3  # the command line's for what is not there

    reason: str

    def __str__(self) -> str:
        return self.reason


@with_fields
class UnwritableError(CortexError):
    """Nothing can be recorded, so no execution continues."""

    exit_code = 4

    execution_id: str
    problem: str

    says = (
        "execution {execution_id} waits, because nothing can be recorded "
        "({problem}): make room, then `cortex execution resume {execution_id}`"
    )


@with_fields
class WaitingError(CortexError):
    """An execution waits for an answer, and nobody can be asked."""

    exit_code = 5  # the command line's for what waits

    execution_id: str
    question: str
    options: str = "--approve` or --deny"

    says = (
        "execution {execution_id} asks: {question} -- answer with "
        "`cortex execution resume {execution_id} {options}"
    )
