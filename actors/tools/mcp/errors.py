"""What can go wrong with a server of tools.

CortexError
└── ToolError
    └── ServerError      the server cannot be used at the moment; the message says why
"""

from collections.abc import Iterator

from ..errors import ToolError

CLOSED, LATE = -32000, -32001  # codes that the SDK gives to what it finds out itself
SHOWN = 300  # characters of what a server said


class ServerError(ToolError):
    """The server cannot be used at the moment."""


def lost(error: BaseException) -> bool:
    """Whether the connection is of no use after *error*."""
    return any(getattr(each, "code", CLOSED) == CLOSED for each in flat(error))


def late(error: BaseException) -> bool:
    """Whether an answer did not come in time."""
    return any(getattr(each, "code", 0) == LATE for each in flat(error))


def problem_of(error: BaseException) -> str:
    """What went wrong, in one line without paths of this machine."""
    first = next(flat(error), error)
    if isinstance(first, FileNotFoundError):
        return "its command is not installed"
    if isinstance(first, OSError) and first.strerror:
        return f"it cannot be started: {first.strerror}"
    if getattr(first, "code", 0) == CLOSED:
        return "it ended, or closed the connection"
    kind = type(first).__name__
    if kind.startswith("Connect"):
        return "it cannot be reached"
    return f"{kind}: {first}"[:SHOWN] if str(first) else kind


def flat(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, or *error* itself."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from flat(each)
    else:
        yield error
