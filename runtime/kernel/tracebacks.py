"""Tracebacks of handlers: logged by their process, and kept when the component gives an event up.

The output of the process is in a worker's terminal, in `cortex plugin logs` or in `up.log`. The
event that reports the failure names the traceback as a blob, so that it can also be found later.
"""

import contextlib
from collections.abc import Callable

from cortex.bus import CortexError, Logger, Recorded

from .host import Outcome

log = Logger("cortex.kernel")


class Tracebacks:
    """Shows the failures of one component's handlers, and keeps the last of each event.

    Args:
        component: Its name.
        keep: Puts a blob and gives its digest.
        mask: Hides the secrets that this process knows; the hub hides those that it knows.
    """

    def __init__(
        self,
        component: str,
        keep: Callable[[bytes], str],
        mask: Callable[[str], str] = str,
    ) -> None:
        self._component, self._keep, self._mask = component, keep, mask
        self._shown = ""  # the last one: each try of an event mostly fails alike

    def take(self, record: Recorded, outcome: Outcome, attempt: int) -> None:
        """Mask what *outcome* says, and log it; a traceback in full where it is another."""
        outcome.failure = self._mask(outcome.failure or "")
        outcome.trace = self._mask(outcome.trace)
        exception = {"exception": outcome.trace} if outcome.trace != self._shown else {}
        self._shown = outcome.trace
        log.warning(
            "handler_failed",
            component=self._component,
            topic=record.topic,
            position=record.position,
            attempt=attempt,
            error=outcome.failure,
            **exception,
        )

    def kept(self, outcome: Outcome) -> str:
        """Digest of the blob that holds the traceback; "" where there is none, or no room."""
        if outcome.trace:
            # An event that is given up must be, whatever becomes of the reason.
            with contextlib.suppress(CortexError, OSError):
                return self._keep(outcome.trace.encode(errors="replace"))
        return ""
