"""Tracebacks of handlers: logged by their process, and stored when the component parks an event.

The output of the process is in a worker's terminal, in `cortex plugin logs` or in `up.log`. The
event that reports the failure names the traceback as a blob, so that it can also be found later.
"""

import contextlib
from collections.abc import Callable

from cortex.bus import CortexError, Logger, Recorded, serving

from .host import Outcome

log = Logger("cortex.kernel")


class Tracebacks:
    """Logs the failures of one component's handlers, and stores the last one of each event.

    Args:
        component: The component's name.
        keep: Stores a blob and returns its digest.
        mask: Hides the secrets known to this process; the hub hides those known to it.
    """

    def __init__(
        self,
        component: str,
        keep: Callable[[bytes], str],
        mask: Callable[[str], str] = str,
    ) -> None:
        self._component, self._keep, self._mask = component, keep, mask
        self._whose: str | None = None  # the subject of the event that failed last
        self._shown = ""  # the last one: retries of an event usually fail in the same way

    def take(self, record: Recorded, outcome: Outcome, attempt: int) -> None:
        """Mask and log the failure in *outcome*; with the traceback if it is a new one."""
        outcome.failure = self._mask(outcome.failure or "")
        outcome.trace = self._mask(outcome.trace)
        exception = {"exception": outcome.trace} if outcome.trace != self._shown else {}
        self._shown, self._whose, told = outcome.trace, record.subject, outcome.failure
        if record.subject is not None:  # an error may quote what the log holds encrypted
            exception, told = {}, f"{told.partition(':')[0]}: see the event; it is of a subject"
        log.warning(
            "handler_failed",
            component=self._component,
            topic=record.topic,
            position=record.position,
            attempt=attempt,
            error=told,
            **exception,
        )

    def kept(self, outcome: Outcome) -> str:
        """Digest of the blob that holds the traceback; "" if there is none, or no room."""
        if outcome.trace:
            # The event must be parked, even if its traceback cannot be stored.
            with contextlib.suppress(CortexError, OSError), serving(self._whose):
                return self._keep(outcome.trace.encode(errors="replace"))
        return ""
