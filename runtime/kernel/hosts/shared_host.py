"""A host whose queries any thread may answer while the component is idle."""

import threading
from collections.abc import Callable, Sequence

from cortex.bus import Draft, Event, Recorded, Vocabulary

from ..components.component import Component
from .host import LocalHost, Outcome


class SharedHost(LocalHost):
    """Runs a component's handlers in its own thread, and queries also in the asker's.

    A query through the mailbox costs two thread switches, which is nearly all of its
    time. Here the asker takes the component's lock during the answer; while the
    component is working the lock is taken, and the query goes through the mailbox.
    """

    def __init__(
        self,
        make: Callable[[], Component],
        vocabulary: Vocabulary,
        emit: Callable[[Draft], None],
    ) -> None:
        super().__init__(make, vocabulary, emit)
        self._at_work = threading.Lock()
        self._shared = False  # whether its fold is complete

    def share(self) -> None:
        """The fold is complete: queries may come."""
        self._shared = True

    def answer_at_once(self, query: Event) -> Event | None:
        """Answer in the calling thread; None while the component is working or not started.

        Errors of the handler are raised.
        """
        if not self._at_work.acquire(blocking=False):
            return None
        try:
            return super().answer(query) if self._shared else None
        finally:
            self._at_work.release()

    def handle(self, records: Sequence[Recorded], attempt: int, *, begun: bool = False) -> Outcome:
        """Run the handlers over a page, in order, until one fails."""
        with self._at_work:
            return super().handle(records, attempt, begun=begun)

    def answer(self, query: Event) -> Event:
        """Run the handler of a query."""
        with self._at_work:
            return super().answer(query)

    def snapshot(self) -> bytes:
        """The fold so far."""
        with self._at_work:
            return super().snapshot()

    def stop(self) -> None:
        """Stop the component."""
        with self._at_work:
            self._shared = False
            super().stop()
