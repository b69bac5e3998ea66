"""Reports a defect in the hub: the caller gets an id, and the program's log the traceback."""

import secrets
import threading
import traceback

from ...errors import CortexError, HubFailedError
from ...event import Draft
from ...local import LocalHub
from ...logger import Logger
from ...requests import Publish
from ...timers import Throttle

log = Logger("cortex.hub")


class Failures:
    """Records exceptions that the hub raised while it answered."""

    def __init__(self, hub: LocalHub) -> None:
        self._hub = hub
        self._lock = threading.Lock()
        self._throttle = Throttle()  # all are logged; one a second per place is published

    def note(self, client: str, error: Exception) -> HubFailedError:
        """Record *error*, and return the error to answer *client* with."""
        failed = HubFailedError(secrets.token_hex(6), type(error).__name__)
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else "?"
        log.error(
            "hub_failed",
            failure=failed.failure,
            client=client,
            where=where,
            traceback="".join(traceback.format_exception(error)),
        )
        if self._is_new(where):
            self._publish(failed, where)
        return failed

    def _is_new(self, where: str) -> bool:
        with self._lock:
            return self._throttle.take(where, self._hub.steady_ns()) > 0

    def _publish(self, failed: HubFailedError, where: str) -> None:
        # Not the text of the error, which may contain a client's data.
        reason = f"{failed.kind} at {where} while it answered a client (failure {failed.failure})"
        event = self._hub.policy.failed(reason)
        if event is None:
            return
        try:
            self._hub.submit("hub", (Publish((Draft.of(event),)),))
        except CortexError as error:  # the log cannot be written, or the hub is closed
            log.warning("not_recorded", topics=[event.topic_name()], error=str(error))
        except Exception:  # noqa: BLE001  # the defect is in the hub: what was logged must do
            log.warning("not_recorded", topics=[event.topic_name()], error="a defect, too")
