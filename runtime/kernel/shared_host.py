"""A host whose queries any thread may answer while the component is idle."""

import threading
from collections.abc import Callable, Sequence

from cortex.bus import Draft, Event, Recorded, Vocabulary

from .component import Component
from .host import LocalHost, Outcome


class SharedHost(LocalHost):
    """Runs a component's handlers in its own thread, its queries also in the asker's.

    A question that goes through the mailbox costs two changes of thread, which is nearly all of its
    time. Here whoever asks takes the component's lock for the moment of the answer; while the
    component is at work the lock is not free, and the question goes to the mailbox after all.
    """

    def __init__(
        self,
        make: Callable[[], Component],
        vocabulary: Vocabulary,
        emit: Callable[[Draft], None],
    ) -> None:
        super().__init__(make, vocabulary, emit)
        self._at_work = threading.Lock()
        self._shared = False  # its fold is there: it was recalled

    def share(self) -> None:
        """Everything was recalled: questions may come."""
        self._shared = True

    def answer_at_once(self, query: Event) -> Event | None:
        """Answer in the calling thread; None while the component is at work or not there.

        What goes wrong in the handler is raised.
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
