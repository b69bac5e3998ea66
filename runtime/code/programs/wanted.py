"""Asking the log whether a program is still wanted."""

from collections.abc import Callable, Iterator

from cortex.bus import CortexError, Recorded
from cortex.bus.events import GateEvaluate, StepExecute, ToolCall
from cortex.runtime.executions import is_wanted
from cortex.runtime.kernel import Delivery

History = Callable[[str], Iterator[Recorded]]


class Waiters:
    """Knows for which execution programs run; without a log, every program is wanted."""

    def __init__(self, history: History | None) -> None:
        self._history = history

    def wait_for(
        self, asked: StepExecute | GateEvaluate | ToolCall, delivery: Delivery
    ) -> Callable[[], bool] | None:
        """Whether somebody still waits for *asked*, as often as it is called."""
        history = self._history
        if history is None:
            return None

        def wanted() -> bool:
            try:
                return is_wanted(asked, delivery.position, history(asked.stream()))
            except CortexError:
                return True  # the runtime ends: programs outlive it

        return wanted
