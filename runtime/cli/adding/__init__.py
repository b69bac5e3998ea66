"""What a command that another package adds is made with: options, the screen, exit codes."""

from cortex.runtime.kernel import NotFoundError, RefusedError
from cortex.runtime.sessions import WaitingError

from ..exits import OK, UNUSABLE, WAITING
from ..options import at_any_home, at_home, with_any_home, with_home, with_screen
from ..screen import Columns, Screen, narrowed
from ..tree import Family

__all__ = [
    "OK",
    "UNUSABLE",
    "WAITING",
    "Columns",
    "Family",
    "NotFoundError",
    "RefusedError",
    "Screen",
    "WaitingError",
    "at_any_home",
    "at_home",
    "narrowed",
    "with_any_home",
    "with_home",
    "with_screen",
]
