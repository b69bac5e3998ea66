"""What a command that another package adds is made with: options, the screen, exit codes."""

from cortex.runtime.kernel import NotFoundError, RefusedError
from cortex.runtime.sessions import WaitingError

from ..exits import OK, UNUSABLE, WAITING
from ..options import with_any_home, with_home, with_screen
from ..screen import Screen, narrowed
from ..tree import Family

__all__ = [
    "OK",
    "UNUSABLE",
    "WAITING",
    "Family",
    "NotFoundError",
    "RefusedError",
    "Screen",
    "WaitingError",
    "narrowed",
    "with_any_home",
    "with_home",
    "with_screen",
]
