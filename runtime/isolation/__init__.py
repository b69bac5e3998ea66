"""What keeps Cortex's own processes apart from the folder they work in and from each other."""

from .child_log import ChildLog, keep
from .environment import AT_REMOTE, TO_SIGN, environment_for
from .interpreter import interpreter
from .process import DEBUGGABLE, close_process, enter_process, given

__all__ = [
    "AT_REMOTE",
    "DEBUGGABLE",
    "TO_SIGN",
    "ChildLog",
    "close_process",
    "enter_process",
    "environment_for",
    "given",
    "interpreter",
    "keep",
]
