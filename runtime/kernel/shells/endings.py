"""Cancels running handlers when their execution or attempt ends.

It subscribes from the first running handler to the end of the last one, and not at other times: an
idle component gets no events about others.
"""

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from cortex.bus import Answer, Fetch, Lease, Page, Refused, Request, Subscribe, Unsubscribe
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    StepFailed,
)

if TYPE_CHECKING:
    from ..hosts.async_host import AsyncHost

# Events that end all handlers of an execution, or of the attempt of a step.
ENDINGS = (ExecutionCancelled, ExecutionCompleted, ExecutionFailed, ExecutionHalted, StepFailed)
_PAIRS = tuple((ending.topic_name(), None) for ending in ENDINGS)


class Endings:
    """Subscribes to endings for one feed.

    Args:
        name: The name of its subscription, which ends with the hub.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._may = True  # False once the hub refused it, as to a plugin without the grant
        self._after: int | None = None  # last position seen; None: not subscribed

    def follow(
        self, leases: Sequence[Lease]
    ) -> Generator[Sequence[Request], Sequence[Answer], None]:
        """Follow events after *leases*, which begin now; does nothing if the hub refuses that."""
        first = min((lease.record.position for lease in leases), default=None)
        if first is None or not self._may:
            return
        if self._after is None:
            (answer,) = yield (self._subscribe(),)
            self._may = not isinstance(answer, Refused)
        if self._may:
            # For work that was released and leased again, the ending may be much older.
            self._after = first if self._after is None else min(self._after, first)

    def look(self, host: "AsyncHost") -> Generator[Sequence[Request], Sequence[Answer], None]:
        """Make *host* cancel what has ended since the last call.

        Raises:
            CortexError: The hub refused the subscription.
        """
        while self._after is not None:
            fetch = Fetch(self._name, self._after, ring_after=-1)
            (answer,) = yield (fetch,)
            if isinstance(answer, Refused):  # a restarted hub does not have it
                _, answer = yield (self._subscribe(), fetch)
            if isinstance(answer, Refused):
                raise answer.error()
            if not isinstance(answer, Page) or answer.through <= self._after:
                return
            for record in answer.records:
                host.cancel(record)
            self._after = answer.through

    def leave(self) -> Generator[Sequence[Request], Sequence[Answer], None]:
        """Unsubscribe: no handler is running."""
        if self._after is not None:
            self._after = None
            yield (Unsubscribe(self._name),)

    def _subscribe(self) -> Subscribe:
        return Subscribe(self._name, "ordered", _PAIRS, lasting=False)
