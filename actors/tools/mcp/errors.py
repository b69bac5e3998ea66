"""Errors of tool servers.

CortexError
└── ToolError
    └── ServerError      the server cannot be used now; the message says why
        └── CallLostError    a call was sent, and its outcome is unknown
"""

import re
from collections.abc import Iterator
from typing import Any

from ..answers import one_line
from ..errors import ToolError

CLOSED, LATE = -32000, -32001  # codes of the SDK's own errors
SHOWN = 300  # characters of a server's message
_SEE = re.compile(r"\s*For further information visit \S+")


class ServerError(ToolError):
    """The server cannot be used now."""


class CallLostError(ServerError):
    """A call was sent, and its outcome is unknown."""


def lost(error: BaseException) -> bool:
    """Whether the connection is unusable after *error*."""
    return any(getattr(each, "code", CLOSED) == CLOSED for each in flat(error) if not _is_odd(each))


def late(error: BaseException) -> bool:
    """Whether an answer did not come in time."""
    return any(getattr(each, "code", 0) == LATE for each in flat(error))


def unanswered(error: BaseException) -> bool:
    """Whether *error* leaves the outcome of a call unknown: the server reported no failure."""
    if all(type(each).__name__.startswith("Connect") for each in flat(error)):
        return False  # it did not reach the server
    return late(error) or lost(error) or any(map(_is_odd, flat(error)))


def problem_of(error: BaseException) -> str:
    """The error in one line, without paths of this machine."""
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
    if _is_odd(first):
        return _not_mcp(first)
    said = one_line(_SEE.sub("", str(first)), SHOWN)
    return f"{kind}: {said}" if said else kind


def _is_odd(error: BaseException) -> bool:
    """Whether an answer violates the protocol."""
    return type(error).__name__ == "ValidationError"


def _not_mcp(error: Any) -> str:
    """The first validation error of a server's message."""
    (first, *others) = error.errors(include_url=False, include_input=False)
    where = ".".join(str(part) for part in first["loc"])
    more = f", and {len(others)} more faults" if others else ""
    said = one_line(f"{where}: {first['msg']}", SHOWN)
    return f"its answer does not follow the protocol: {said}{more}"


def flat(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, or *error* itself."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from flat(each)
    else:
        yield error
