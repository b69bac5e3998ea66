"""What can go wrong when a log is read."""

from cortex.bus import CortexError

# CortexError
# └── LogError             nothing can be said about this log
#     ├── LogUnreadableError   it is missing, forbidden, cut or vanished: fetch it again
#     └── LogBinaryError       it is no text: unpack it first


class LogError(CortexError):
    """A log could not be turned into lines."""


class LogUnreadableError(LogError):
    """The log is missing, may not be read, or ended before it was read whole."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, reason)
        self.source, self.reason = source, reason

    def __str__(self) -> str:
        return f"cannot read the log {self.source}: {self.reason}; fetch it again, then retry"


class LogBinaryError(LogError):
    """The log holds bytes that are no text in any encoding that logs come in."""

    def __init__(self, source: str, looks_like: str) -> None:
        super().__init__(source, looks_like)
        self.source, self.looks_like = source, looks_like

    def __str__(self) -> str:
        return (
            f"{self.source} is {self.looks_like}, not a text log: "
            "unpack it and pass the plain or gzip text inside"
        )
