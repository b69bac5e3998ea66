"""What becomes of a defect in the hub: its caller gets an id, the program's log the traceback."""

import secrets
import threading
import traceback

from ..errors import CortexError, HubFailedError
from ..event import Draft
from ..events import ComponentFailed
from ..local import LocalHub
from ..logger import Logger
from ..requests import Publish
from ..throttle import Throttle

log = Logger("cortex.hub")


class Failures:
    """Records what went wrong while the hub answered."""

    def __init__(self, hub: LocalHub) -> None:
        self._hub = hub
        self._lock = threading.Lock()
        self._throttle = Throttle()  # every one is logged; of one place, one a second is an event

    def note(self, client: str, error: Exception) -> HubFailedError:
        """Record *error*, and give the error that *client* is answered with."""
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
        # Not the text of the error: it may hold what a client said.
        reason = f"{failed.kind} at {where} while it answered a client (failure {failed.failure})"
        event = ComponentFailed(component="hub", reason=reason)
        try:
            self._hub.submit("hub", (Publish((Draft.of(event),)),))
        except CortexError as error:  # the log says no, or the hub is closed
            log.warning("not_recorded", topics=[event.topic_name()], error=str(error))
        except Exception:  # noqa: BLE001  # the defect is in the hub: what was logged must do
            log.warning("not_recorded", topics=[event.topic_name()], error="a defect, too")
