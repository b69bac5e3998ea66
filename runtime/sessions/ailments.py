"""What ails the runtime inside a command, by its log lines: the event log itself may fail."""

import time
from collections.abc import MutableMapping
from typing import Any

from cortex.bus import with_structlog
from cortex.runtime.kernel import level_asked, log_to_stderr
from cortex.runtime.secrets import Redactor

SAID = {"clock_behind_log"}  # what every start says to a user, too
LASTING_S = 5.0  # a log that could not be written for this long will not mend by itself


class Ailments:
    """Notes that the event log cannot be written; a processor for structlog."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown  # whether the runtime's log lines are wanted on standard error
        self._since_s: float | None = None
        self._problem = ""

    def __call__(
        self,
        logger: Any,  # noqa: ARG002  # structlog's
        method: str,  # noqa: ARG002  # structlog's
        event: MutableMapping[str, Any],
    ) -> MutableMapping[str, Any]:
        """Take note of a log line, and let it pass if somebody wants it."""
        error = str(event.get("error", ""))
        if event.get("event") == "component_failed" and error.startswith("Log"):
            if self._since_s is None:
                self._since_s = time.monotonic()
            self._problem = error
        if not self._shown and event.get("event") not in SAID:
            from structlog import DropEvent  # it called this, so that it is there

            raise DropEvent
        return event

    def clear(self) -> None:
        """Something was recorded: the log can be written."""
        self._since_s, self._problem = None, ""

    def lasting(self) -> str:
        """Why nothing can be recorded, where that lasts; empty where all is well."""
        since_s = self._since_s
        lasts = since_s is not None and time.monotonic() - since_s > LASTING_S
        return self._problem if lasts else ""


def listen() -> Ailments:
    """Have the runtime's log lines, as far as they are wanted, pass by what notes ailments."""
    level = level_asked()
    ailments = Ailments(shown=level is not None)
    # What matters to a user is an event or an error; the rest is for whoever asks for it.
    with_structlog(lambda: log_to_stderr(level, [ailments, Redactor()]))
    return ailments
