"""Detects faults of a command's own runtime from its log lines, as the log itself may fail."""

from collections.abc import MutableMapping
from typing import Any

from cortex.bus import steady_s, with_structlog
from cortex.runtime.kernel import level_asked, log_to_stderr, wanted_logs
from cortex.runtime.secrets import Redactor

SAID = {"clock_behind_log"}  # each start also reports these to the user
LASTING_S = 5.0  # a log that could not be written for this long will not recover by itself


class Ailments:
    """Notes that the event log cannot be written; a processor for structlog."""

    def __init__(self) -> None:
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
                self._since_s = steady_s()
            self._problem = error
        # The home's configuration is read after the command has begun to listen.
        if wanted_logs().level is None and event.get("event") not in SAID:
            from structlog import DropEvent  # structlog called this, so it is imported already

            raise DropEvent
        return event

    def clear(self) -> None:
        """Something was recorded: the log can be written."""
        self._since_s, self._problem = None, ""

    def lasting(self) -> str:
        """Why nothing can be recorded, where that lasts; empty where all is well."""
        since_s = self._since_s
        lasts = since_s is not None and steady_s() - since_s > LASTING_S
        return self._problem if lasts else ""


def listen() -> Ailments:
    """Have the runtime's log lines, as far as they are wanted, pass by what notes ailments."""
    level_asked()
    ailments = Ailments()
    # Everything that matters to a user is an event or an error; the rest is shown on request.
    with_structlog(lambda: log_to_stderr([ailments, Redactor()]))
    return ailments
