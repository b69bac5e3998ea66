"""Lets an idle ordered component answer events in the transaction that appends them.

The hub asks on the thread of whoever appends, and holds the transaction meanwhile. So a component
is asked only about the classes of events that it `decides` from memory. If it wants to read the
log then, or fails, it gets the event on its own thread as usual, once that is on disk.
"""

import threading
from collections.abc import Sequence

from cortex.bus import Commit, Recorded

from ..components.component import Component
from ..components.effect import Contract
from ..hosts.host import LocalHost
from .ordered import IDLE_COMMIT, OrderedFeed


def may_be_asked(component: type[Component], contract: Contract | None) -> bool:
    """Whether *component* decides at once: one with a fold or with effects needs its own thread."""
    return bool(component.decides) and not component.recalls and contract is None


class AtOnce:
    """Asks one component for the hub, while its shell is idle.

    Args:
        component: Which one.
        feed: Its feed.
        host: Where its handlers are.
    """

    def __init__(self, component: type[Component], feed: OrderedFeed, host: LocalHost) -> None:
        self.name = component.component_name()
        self.turn = threading.Lock()  # its holder uses the feed and the host
        self._topics = {each.topic_name() for each in component.decides}
        self._feed, self._host = feed, host
        self._newest = 0  # position of the newest event that the component has to see
        self._through = 0  # of its commit in the transaction that the hub writes; 0 for none

    def needs_wakeup(self, head: int) -> bool:
        """Whether its shell has something to do in a log up to *head*."""
        feed = self._feed
        return not self._is_ready() or head - feed.cursor >= IDLE_COMMIT

    def decide(self, records: Sequence[Recorded], head: int) -> Commit | None:
        """The results of *records*, or of the first of them; None if its shell has to be woken."""
        if records[0].topic not in self._topics or not self.turn.acquire(blocking=False):
            return None
        commit = None
        try:
            if self._is_ready():
                commit = self._decided(records, head)
        finally:
            if commit is None:
                self.turn.release()
        return commit

    def written(self, newest: int) -> None:
        """Note an event for the component at *newest*, and that its commit is on disk."""
        self._newest = newest
        if self._through:
            self._feed.moved(self._through)
            self.dropped()

    def dropped(self) -> None:
        """Let its shell go on; if its commit was not written, it gets the same events."""
        self._through = 0
        self.turn.release()

    def _is_ready(self) -> bool:
        return self._feed.idle and self._feed.seen >= self._newest

    def _decided(self, records: Sequence[Recorded], head: int) -> Commit | None:
        done = self._host.decide(records, self._topics)
        if not done:
            return None
        # The first event that it does not answer is delivered, and the rest behind it.
        self._through = head if len(done) == len(records) else records[len(done)].position - 1
        return self._feed.commit(self._through, done)
