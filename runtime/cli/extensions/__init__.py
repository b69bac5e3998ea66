"""For commands that other packages add: options, the screen, exit codes."""

from cortex.runtime.kernel import NotFoundError, RefusedError
from cortex.runtime.sessions import WaitingError

from ..exits import OK, UNUSABLE, WAITING
from ..options import at_any_home, at_home, with_any_home, with_home, with_screen
from ..screen import Branch, Columns, Screen
from ..tree import Family

__all__ = [
    "OK",
    "UNUSABLE",
    "WAITING",
    "Branch",
    "Columns",
    "Family",
    "NotFoundError",
    "RefusedError",
    "Screen",
    "WaitingError",
    "at_any_home",
    "at_home",
    "with_any_home",
    "with_home",
    "with_screen",
]
