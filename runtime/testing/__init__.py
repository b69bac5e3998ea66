"""For tests of components: one called as a function, or several on a clock of the test's own."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .calling import Stated, VirtualClock, ask_gate, ask_model, call_tool, run_action, step
    from .in_memory import RuntimeInMemory, runtime
    from .recorded import replay
else:
    lazily(__name__)

__all__ = [
    "RuntimeInMemory",
    "Stated",
    "VirtualClock",
    "ask_gate",
    "ask_model",
    "call_tool",
    "replay",
    "run_action",
    "runtime",
    "step",
]
