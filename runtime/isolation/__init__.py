"""What keeps Cortex's own processes apart from the folder they work in and from each other."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .child import ChildProcess, ending, interpreter, signal_group, start_python
    from .child_log import ChildLog, keep
    from .environment import AT_REMOTE, TO_SIGN, environment_for
    from .framing import PipeFrameError
    from .parent import Parent, enter_child
    from .process import close_process, enter_process, given
else:
    lazily(__name__)

__all__ = [
    "AT_REMOTE",
    "TO_SIGN",
    "ChildLog",
    "ChildProcess",
    "Parent",
    "PipeFrameError",
    "close_process",
    "ending",
    "enter_child",
    "enter_process",
    "environment_for",
    "given",
    "interpreter",
    "keep",
    "signal_group",
    "start_python",
]
