"""Asking the log whether a program is still wanted, beside the hub and in a process of its own."""

from collections.abc import Callable, Iterator
from contextlib import closing

from cortex.bus import CortexError, Recorded, decode
from cortex.bus.events import GateEvaluate, StepExecute, ToolCall
from cortex.runtime.kernel import Delivery, Home
from cortex.runtime.log import EventLog
from cortex.runtime.processes.execution import is_wanted

History = Callable[[str], Iterator[Recorded]]
PAGE = 256


class Waiters:
    """Knows for whom programs run; where it can see no log, every program is wanted."""

    def __init__(self, history: History | None, home: Home | None) -> None:
        self._history = history
        self._home = home

    def wait_for(
        self, asked: StepExecute | GateEvaluate | ToolCall, delivery: Delivery
    ) -> Callable[[], bool] | None:
        """Whether somebody still waits for *asked*, as often as it is called."""
        if self._history is None and self._home is None:
            return None

        def wanted() -> bool:
            try:
                return is_wanted(asked, delivery.position, self._stream(asked.stream()))
            except CortexError:
                return True  # the runtime ends: programs outlive it

        return wanted

    def _stream(self, stream: str) -> Iterator[Recorded]:
        if self._history is not None:
            yield from self._history(stream)
        elif self._home is not None:
            with closing(EventLog.open(self._home.log_path, readonly=True)) as log:
                after = 0
                while page := log.read_stream(stream, after, PAGE):
                    for data in page:
                        record = decode(data)
                        after = record.version
                        yield record
