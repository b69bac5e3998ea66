"""Work that nobody takes: up to a bound it is kept ready for workers, the rest waits in the log.

The log is the queue. Each event that waits for a worker has a row, which the hub holds in memory
and reads at every start; a subscription that nobody works would gather them without end. Past a
bound it gets no more: its cursor says up to where it was routed, and once half of the bound is
worked, the hub routes on from there, oldest first. Nothing is dropped for it, and nobody who
publishes is refused because a worker of somebody else is away.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from .errors import CortexError
from .event import Recorded
from .known import Known
from .limits import Allowed, root_of
from .log import Standing, Work, lags
from .turn import Turn
from .unclaimed import STEP

LOOKED_AT = 1_024  # events of the log that one transaction routes, so that none takes long
LEAST = 64  # a queue as short as this is not looked at


def fill_up(known: Known, names: Iterable[str], allowed: Allowed, ready: int) -> None:
    """Take note which of these queues are full; *ready* is the bound of whoever has no own."""
    for name in names:
        queue = known.queues.get(name)
        if queue is None or len(queue) < min(LEAST, ready or LEAST) or name in known.full:
            continue
        most = _most(known, name, allowed, ready)
        if most and len(queue) >= most:
            known.full.add(name)


def route_on(
    known: Known,
    turn: Turn,
    allowed: Allowed,
    ready: int,
    after: Callable[[int, int], Sequence[Recorded]],
) -> None:
    """Stage more work for the full queues that have room again."""
    for name in tuple(known.full):
        most, waiting = _most(known, name, allowed, ready), len(known.queues[name])
        if most and waiting > most // 2:
            continue
        standing = known.standings[name]
        if lags(standing):
            try:
                standing = _routed(known, turn, standing, most - waiting if most else 0, after)
            except CortexError:
                continue  # the log cannot be read now: it is tried again
            turn.batch.standings[name] = standing
            turn.woken.add(name)  # whoever works it comes again, and takes it a page further
        if not lags(standing):
            turn.full = turn.full - {name}


def _most(known: Known, name: str, allowed: Allowed, ready: int) -> int:
    """How much may be ready in a queue; 0 for no bound."""
    allowance = allowed(root_of(name))
    if allowance is None:
        return ready
    shared_by = max(1, known.tally.of("subscriptions", allowance.roots))
    return max(1, allowance.limits.waiting // shared_by) if allowance.limits.waiting else 0


def _routed(
    known: Known,
    turn: Turn,
    standing: Standing,
    room: int,
    after: Callable[[int, int], Sequence[Recorded]],
) -> Standing:
    """Route a page of the log; where the subscription stands then."""
    name, through, taken = standing.name, standing.cursor, 0
    seen = known.filters[name]
    for record in after(through, LOOKED_AT):
        if record.position > known.head or (room and taken >= room):
            break
        if seen.matches(record.topic, record.key):
            turn.batch.work[name, record.position] = Work(name, record.position)
            taken += 1
            if record.topic == STEP:
                turn.offered.add(name)
        through = record.position
    cursor = standing.created if through >= known.head else through
    return msgspec.structs.replace(standing, cursor=cursor)
