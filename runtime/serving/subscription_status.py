"""The progress of a log's subscriptions and its growth, read beside its writer."""

import time
from collections.abc import Mapping, Sequence

import msgspec

from cortex.bus import Filter, Log, State, SubscriptionState, Work, decode, lags, last_before

LOOKED_AT = 100_000  # maximum of events read to count how far subscribers are behind
PAGE = 1_024
PAGE_BYTES = 4 << 20
WINDOWS_S = (10, 60, 900)  # for rates


class SubscriptionRow(msgspec.Struct, frozen=True):
    """One subscription that outlives its client."""

    name: str
    kind: str  # "ordered" or "work"
    cursor: int  # every event up to here is done, or was routed to the workers
    lag: int  # events that wait
    exact: bool = True  # False: too far behind: events that do not match are counted, too
    held: int = 0  # for work: events that are leased, or in their backoff
    oldest_s: float | None = None  # for work: age of the oldest waiting event
    ready: int = 0  # for work: events that workers can take; the rest waits in the log


class Rate(msgspec.Struct, frozen=True):
    """The recent growth of the log."""

    over_s: int
    events_per_s: float


def subscriptions_of(log: Log, state: State, steady_ns: int) -> list[SubscriptionRow]:
    """The progress of each subscription, by name; *steady_ns* is the clock of the hub's leases."""
    behind = [s for s in state.standings if s.kind == "ordered" or lags(s)]
    lag_of = _lags(log, behind, state.head)
    rows = [
        SubscriptionRow(s.name, s.kind, s.cursor, *lag_of[s.name])
        for s in behind
        if s.kind == "ordered"
    ]
    works: dict[str, list[Work]] = {s.name: [] for s in state.standings if s.kind == "work"}
    for work in state.work:
        works.get(work.subscription, []).append(work)
    rows += [
        _work_row(standing, works[standing.name], log, lag_of, steady_ns)
        for standing in state.standings
        if standing.kind == "work"
    ]
    return sorted(rows, key=lambda row: row.name)


def rates_of(log: Log, head: int, now_ns: int) -> list[Rate]:
    """Events per second over the last windows."""
    return [
        Rate(over_s, (head - last_before(log, head, now_ns - over_s * 1_000_000_000)) / over_s)
        for over_s in WINDOWS_S
    ]


def is_untaken(state: State, position: int, steady_ns: int) -> bool:
    """Whether the event at *position* is waiting work that no worker has now."""
    work = [w for w in state.work if w.position == position]
    return bool(work) and all(w.not_before_ns <= steady_ns for w in work)


def _work_row(
    standing: SubscriptionState,
    works: Sequence[Work],
    log: Log,
    lag_of: Mapping[str, tuple[int, bool]],
    steady_ns: int,
) -> SubscriptionRow:
    free = [w.position for w in works if w.not_before_ns <= steady_ns]
    in_log, exact = lag_of.get(standing.name, (0, True))
    return SubscriptionRow(
        standing.name,
        standing.kind,
        standing.cursor,
        len(works) + in_log,
        exact,
        held=len(works) - len(free),
        oldest_s=_age_s(log, min(free)) if free else None,
        ready=len(free),
    )


def _age_s(log: Log, position: int) -> float:
    """The age of the event at *position*."""
    return max(0.0, (time.time_ns() - decode(log.read(position - 1, 1, 1)[0]).time_ns) / 1e9)


def _lags(
    log: Log, standings: Sequence[SubscriptionState], head: int
) -> dict[str, tuple[int, bool]]:
    """By name: how many events wait, and whether that is exact."""
    earliest = max(0, head - LOOKED_AT)
    far = {s.name: head - s.cursor for s in standings if s.cursor < earliest}
    near = {s.name: (s.cursor, Filter(s.filter)) for s in standings if s.cursor >= earliest}
    counted = dict.fromkeys(near, 0)
    after = min((cursor for cursor, _ in near.values()), default=head)
    while after < head and (page := log.read(after, PAGE, PAGE_BYTES)):
        for record in map(decode, page):
            after = record.position
            for name, (cursor, seen) in near.items():
                if after > cursor and seen.matches(record.topic, record.key):
                    counted[name] += 1
    return {name: (lag, False) for name, lag in far.items()} | {
        name: (lag, True) for name, lag in counted.items()
    }
