"""What goes wrong on the command line.

CortexError
├── NotFoundError        what was named is not there, or several fit
├── RejectedError        a source of a process has errors
└── RefusedError         it is there, and it cannot be done now
"""

from cortex.bus import CortexError

from .exits import NOT_FOUND


class NotFoundError(CortexError, LookupError):
    """What was named is not there, or several fit."""

    exit_code = NOT_FOUND

    def __init__(self, what: str, name: str, hint: str) -> None:
        super().__init__(what, name, hint)
        self.what, self.name, self.hint = what, name, hint

    def __str__(self) -> str:
        return f"{self.what} {self.name!r} {self.hint}"


class RejectedError(CortexError):
    """A source of a process has errors; nothing was run."""

    def __init__(self, file: str, first: str, count: int) -> None:
        super().__init__(file, first, count)
        self.file, self.first, self.count = file, first, count

    def __str__(self) -> str:
        more = f" (and {self.count - 1} more)" if self.count > 1 else ""
        return f"{self.first}{more}: see `cortex process validate {self.file}`; nothing was run"


class RefusedError(CortexError):
    """What was asked for cannot be done as things stand."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return self.problem
