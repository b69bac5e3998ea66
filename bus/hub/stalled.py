"""Reports requests that no worker takes; the report is recorded, and the request waits.

If no subscription matches a request, the hub reports it in the transaction that records it. If one
does and no worker claims from its queue (the worker was killed, hangs, or was never started), the
hub checks the queue at intervals: it reports a request that was there at two checks in a row while
no worker showed a sign of life, once for each time the request became free. If its worker is known
to be gone, the check comes soon.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from ..event import Recorded
from ..log import SubscriptionState, Work
from ..policy import WorkPolicy
from .cancellation import drop_cancelled
from .hub_state import HubState

if TYPE_CHECKING:
    from .transaction import Transaction

LOOK_NS = 5_000_000_000  # between two checks; a report comes after one to two of them
SOON_NS = 1_000_000_000  # before reporting work of a lost worker that no other worker took
REPORTED_AT_ONCE = 256  # per check


class _Look(msgspec.Struct):
    due_ns: int
    touched: int = -1  # the queue's count of signs of life at the last check
    newest: int = 0  # head of the log at the last check
    older: int = 0  # at the check before that, if no worker has shown a sign of life since


class StalledWork:
    """Checks the queues in which such requests wait; changed only after a write succeeded."""

    def __init__(self, policy: WorkPolicy, state: HubState) -> None:
        family = policy.watched.partition(".")[0]
        # The patterns that match such a request; none if the policy watches nothing.
        self._patterns = {policy.watched, f"{family}.*", "*"} if policy.watched else set[str]()
        self._looks: dict[str, _Look] = {}
        self._reported: dict[str, set[tuple[int, int]]] = {}  # position and epoch, by subscription
        self._waits_on(state, state.queues, 0)

    def due_ns(self) -> int | None:
        """When the next check is due; None: not before there is a request."""
        return min((look.due_ns for look in self._looks.values()), default=None)

    def offered(self, names: Iterable[str], now_ns: int) -> None:
        """Requests were put into the queues *names*."""
        for name in names:
            if name not in self._looks:
                self._looks[name] = _Look(now_ns + LOOK_NS)

    def lapsed(self, state: HubState, names: Iterable[str], now_ns: int) -> None:
        """Leases or backoffs in the queues *names* are over, so that their work is free."""
        self._waits_on(state, names, now_ns + LOOK_NS)

    def abandoned(self, state: HubState, names: Iterable[str], now_ns: int) -> None:
        """Work in the queues *names* is free because its worker is gone for good."""
        for name in names:
            queue = state.queues.get(name)
            if queue is not None and len(queue) and self._sees_watched(state.standings[name]):
                self._looks[name] = _Look(now_ns + SOON_NS, queue.touched, state.head)

    def overdue(self, state: HubState, now_ns: int, waits: Callable[[Work], bool]) -> list[Work]:
        """Work that was free for long enough and is not reported yet; does the checks that are due.

        Args:
            state: The queues, with lapsed leases already matured.
            now_ns: The monotonic time.
            waits: Whether a work must not be claimed now, for a reason of the hub's own.
        """
        found: list[Work] = []
        for name in [name for name, look in self._looks.items() if look.due_ns <= now_ns]:
            found += self._look(state, name, now_ns, waits)
        return found

    def report(
        self, state: HubState, transaction: "Transaction", record: Callable[[int], Recorded]
    ) -> list[Work]:
        """Stage reports of requests that no worker claims; return the work they are about.

        Args:
            state: The queues, with lapsed leases already matured.
            transaction: Gets the reports.
            record: The event at a position.
        """
        tries = transaction.tries
        overdue = self.overdue(
            state,
            transaction.steady_ns,
            lambda work: tries.must_wait((work.subscription, work.position)),
        )
        for work in overdue:
            asked = record(work.position)
            watched = asked.topic == transaction.watched
            if watched and not drop_cancelled(transaction, work, asked):
                waited_s = max(0, transaction.time_ns - asked.time_ns) / 1e9
                transaction.report(asked.topic, asked.body, asked.position, waited_s)
        return overdue

    def reported(self, works: Iterable[Work]) -> None:
        """These were reported."""
        for work in works:
            self._reported.setdefault(work.subscription, set()).add((work.position, work.epoch))

    def _waits_on(self, state: HubState, names: Iterable[str], due_ns: int) -> None:
        for name in names:
            if len(state.queues[name]) and self._sees_watched(state.standings[name]):
                self._looks.setdefault(name, _Look(due_ns))

    def _look(
        self, state: HubState, name: str, now_ns: int, waits: Callable[[Work], bool]
    ) -> list[Work]:
        look, queue = self._looks[name], state.queues.get(name)
        if queue is None or not len(queue):
            del self._looks[name]
            self._reported.pop(name, None)
            return []
        held_ns = queue.next_due_ns()  # a worker holds some of it, or has just released it
        alive = held_ns is not None or queue.touched != look.touched
        look.older, look.newest = 0 if alive else look.newest, state.head
        look.touched, look.due_ns = queue.touched, max(now_ns, held_ns or 0) + LOOK_NS
        if alive:
            return []
        before = self._reported.get(name, set())
        told = self._reported[name] = before & {(w.position, w.epoch) for w in queue}
        fresh = [w for w in queue if (w.position, w.epoch) not in told]
        if not fresh:
            del self._looks[name]  # until there is more work, or a claim lapses
        ripe = (w for w in fresh if w.position <= look.older and not waits(w))
        return [work for work, _ in zip(ripe, range(REPORTED_AT_ONCE), strict=False)]

    def _sees_watched(self, standing: SubscriptionState) -> bool:
        return any(topic in self._patterns for topic, _ in standing.filter)
