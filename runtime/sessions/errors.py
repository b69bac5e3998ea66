"""What keeps a home from doing what it was asked for.

CortexError (in the bus)
├── RejectedError        a source of a process has errors
└── WaitingError         an execution waits for an answer that nobody is there to give
"""

from cortex.bus import CortexError


class RejectedError(CortexError):
    """A source of a process has errors; nothing was run."""

    def __init__(self, file: str, first: str, count: int) -> None:
        super().__init__(file, first, count)
        self.file, self.first, self.count = file, first, count

    def __str__(self) -> str:
        more = f" (and {self.count - 1} more)" if self.count > 1 else ""
        return f"{self.first}{more}: see `cortex process validate {self.file}`; nothing was run"


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
