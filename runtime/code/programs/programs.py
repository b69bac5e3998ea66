"""The programs of a component: what they get, whether they are wanted, where they are recorded."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from cortex.bus import CortexError, Recorded
from cortex.bus.events import GateEvaluate, StepExecute, ToolCall
from cortex.runtime.executions import is_wanted
from cortex.runtime.kernel import Config, Delivery, Home, key_names
from cortex.runtime.secrets import Mask

from .effects import Effects

_ENDS = ("execution.completed", "execution.failed", "execution.cancelled")

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

    def has_ended(self, stream: str) -> bool:
        """Whether the execution of a stream has ended for good; False if that is not known."""
        if self._history is None:
            return False
        try:
            return any(record.topic in _ENDS for record in self._history(stream))
        except CortexError:
            return False


class Programs:
    """The programs of one component, and the records of those that run once; `close` ends it.

    Without a home nothing outlives the runtime, so records of effects need not either.
    """

    def __init__(
        self, config: Config, home: Home | None, history: History | None, mask: Mask | None
    ) -> None:
        self.allow = config.handlers.shell.allow
        self.timeout_s = config.handlers.shell.timeout_s
        self.hidden = key_names(config)  # variables that they get only if a step names them
        self.named = config.programs.environment  # variables that each of them gets
        self._passing = TemporaryDirectory(prefix="cortex-") if home is None else None
        self.folder = Path(self._passing.name if self._passing else home.path if home else "")
        self.effects = Effects(self.folder / "effects", mask)
        self._waiters = Waiters(history)
        self.wait_for = self._waiters.wait_for

    @property
    def are_kept(self) -> bool:
        """Whether their records outlive the runtime."""
        return self._passing is None

    def tidy(self) -> None:
        """Remove the records of old effects of executions that have ended."""
        self.effects.forget(cache(self._waiters.has_ended))  # one execution has many of them

    def close(self) -> None:
        """Remove the records if there is no home."""
        if self._passing is not None:
            self._passing.cleanup()
