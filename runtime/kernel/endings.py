"""What ends while handlers are under way: the end of an execution or of an attempt cancels them.

It is followed from the first event under way to the end of the last one, and in no other moment: a
component that nobody asks for anything has no part in what others do.
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
    from .async_host import AsyncHost

# Events that end whatever is still done for an execution, or for the attempt of a step.
ENDINGS = (ExecutionCancelled, ExecutionCompleted, ExecutionFailed, ExecutionHalted, StepFailed)
_PAIRS = tuple((ending.topic_name(), None) for ending in ENDINGS)


class Endings:
    """Follows endings for one feed.

    Args:
        name: Of its subscription, which does not outlast the hub.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._may = True  # False once it was refused, as to a plugin that was not granted it
        self._after: int | None = None  # position looked at last; None: nothing is followed

    def follow(
        self, leases: Sequence[Lease]
    ) -> Generator[Sequence[Request], Sequence[Answer], None]:
        """Follow what comes after *leases*, which begin now; nothing where that is refused."""
        first = min((lease.record.position for lease in leases), default=None)
        if first is None or not self._may:
            return
        if self._after is None:
            (answer,) = yield (self._subscribe(),)
            self._may = not isinstance(answer, Refused)
        if self._may:
            # One that was given back and comes again may have ended long before that.
            self._after = first if self._after is None else min(self._after, first)

    def look(self, host: "AsyncHost") -> Generator[Sequence[Request], Sequence[Answer], None]:
        """Have *host* cancel what has ended since the last look.

        Raises:
            CortexError: What is followed is refused.
        """
        while self._after is not None:
            fetch = Fetch(self._name, self._after, ring_after=-1)
            (answer,) = yield (fetch,)
            if isinstance(answer, Refused):  # a hub that began anew knows nothing of it
                _, answer = yield (self._subscribe(), fetch)
            if isinstance(answer, Refused):
                raise answer.error()
            if not isinstance(answer, Page) or answer.through <= self._after:
                return
            for record in answer.records:
                host.cancel(record)
            self._after = answer.through

    def leave(self) -> Generator[Sequence[Request], Sequence[Answer], None]:
        """Follow no more: nothing is under way."""
        if self._after is not None:
            self._after = None
            yield (Unsubscribe(self._name),)

    def _subscribe(self) -> Subscribe:
        return Subscribe(self._name, "ordered", _PAIRS, lasting=False)
