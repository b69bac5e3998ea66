"""Work that no worker takes: a bounded part of it is ready for workers, the rest waits in the log.

The log is the queue. Each event that waits for a worker has a row, which the hub holds in memory
and reads at every start. Without a bound, a subscription without workers would collect rows for
ever. Above the bound it gets no more: its cursor says how far it was routed, and when half of the
bound is done, the hub continues to route from there, oldest first. Nothing is dropped, and no
publish is refused because another client's worker is not connected.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from ..errors import CortexError
from ..event import Recorded
from ..limits import Allowed, root_of
from ..log import SubscriptionState, Work, lags
from .hub_state import HubState
from .transaction import Transaction

LOOKED_AT = 1_024  # events of the log that one transaction routes: this bounds its duration
LEAST = 64  # shorter queues are not checked


def fill_up(state: HubState, names: Iterable[str], allowed: Allowed, ready: int) -> None:
    """Note which of these queues are full; *ready* is the bound for clients without their own."""
    for name in names:
        queue = state.queues.get(name)
        if queue is None or len(queue) < min(LEAST, ready or LEAST) or name in state.full:
            continue
        most = _most(state, name, allowed, ready)
        if most and len(queue) >= most:
            state.full.add(name)


def route_on(
    state: HubState,
    transaction: Transaction,
    allowed: Allowed,
    ready: int,
    after: Callable[[int, int], Sequence[Recorded]],
) -> None:
    """Stage more work for the full queues that have room again."""
    for name in tuple(state.full):
        most, waiting = _most(state, name, allowed, ready), len(state.queues[name])
        if most and waiting > most // 2:
            continue
        standing = state.standings[name]
        if lags(standing):
            try:
                standing = _routed(
                    state, transaction, standing, most - waiting if most else 0, after
                )
            except CortexError:
                continue  # the log cannot be read now: it is tried again
            transaction.batch.standings[name] = standing
            transaction.woken.add(name)  # its worker claims again, and then gets the next page
        if not lags(standing):
            transaction.full = transaction.full - {name}


def _most(state: HubState, name: str, allowed: Allowed, ready: int) -> int:
    """How many events may be ready in a queue; 0 for no bound."""
    allowance = allowed(root_of(name))
    if allowance is None:
        return ready
    shared_by = max(1, state.tally.of("subscriptions", allowance.roots))
    return max(1, allowance.limits.waiting // shared_by) if allowance.limits.waiting else 0


def _routed(
    state: HubState,
    transaction: Transaction,
    standing: SubscriptionState,
    room: int,
    after: Callable[[int, int], Sequence[Recorded]],
) -> SubscriptionState:
    """Route a page of the log; return where the subscription is then."""
    name, through, taken = standing.name, standing.cursor, 0
    seen = state.filters[name]
    for record in after(through, LOOKED_AT):
        if record.position > state.head or (room and taken >= room):
            break
        if seen.matches(record.topic, record.key):
            transaction.batch.work[name, record.position] = Work(name, record.position)
            taken += 1
            if record.topic == transaction.watched:
                transaction.offered.add(name)
        through = record.position
    cursor = standing.created if through >= state.head else through
    return msgspec.structs.replace(standing, cursor=cursor)
