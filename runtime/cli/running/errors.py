"""What goes wrong around a runtime inside a command.

LogHeldError (in the log)
└── HomeHeldError        another process runs a runtime on the home
"""

from cortex.runtime.log import LogHeldError


class HomeHeldError(LogHeldError):
    """Another process runs a runtime on the home; a home has one at a time."""

    def __str__(self) -> str:
        if self.pid is None:
            return f"{self.path} is held by another process: repeat this once that has ended"
        return (
            f"{self.path} is held by process {self.pid}, which runs executions on it: Ctrl-C there "
            f"or `kill -INT {self.pid}` pauses them; repeat this once it has ended"
        )
