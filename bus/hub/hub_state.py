"""The hub's state in memory; it changes only after a write succeeded."""

from collections.abc import Collection, Iterable
from typing import Self

import msgspec

from ..epochs import Epochs, ends_of
from ..errors import TailLostError
from ..event import Draft
from ..filter import Filter, Index
from ..limits import Tally
from ..log import Batch, Deadline, Log, Receipt, SubscriptionState, lags
from .idempotency import is_lane
from .queue import WorkQueue
from .standing_claims import StandingClaims

ROUTES_KEPT = 20_000  # (topic, key) pairs; plugins may use any number of keys
FEW = 64  # a route that wakes at most this many subscriptions looks up each of them


class Route(msgspec.Struct, frozen=True):
    """Where an event of one topic and key goes."""

    wake: frozenset[str]  # every subscription that sees it
    work: tuple[str, ...]  # those of them that are work
    named: bool  # an ordered subscription names this very key, and so answers for it


class HubState(msgspec.Struct):
    """Cursors, queues, deadlines and versions after the newest transaction."""

    head: int
    time_ns: int
    standings: dict[str, SubscriptionState]
    passing: set[str]  # names of subscriptions that are not on disk
    filters: dict[str, Filter]
    queues: dict[str, WorkQueue]
    deadlines: dict[str, Deadline]
    receipts: dict[str, Receipt]
    versions: dict[str, int]  # newest version by stream, for the streams written lately
    routes: dict[tuple[str, str | None], Route]
    index: Index  # of `filters`
    tally: Tally  # of what the hub keeps for each client
    epochs: Epochs = ()  # of the log, the newest last
    epoch: int = 0  # the newest one's id
    ends: dict[int, int] = {}  # where the earlier epochs ended
    unclean: bool = False  # the opening before may have lost its newest events
    ended: int | None = None  # where the log was closed, if it ends elsewhere now
    noted: Draft | None = None  # an event that the first transaction must record
    standing_claims: StandingClaims = msgspec.field(default_factory=StandingClaims)
    full: set[str] = set()  # work subscriptions with enough ready work: see backlog.py

    @classmethod
    def of(cls, log: Log) -> Self:
        """Read the state from a log that no hub is serving."""
        kept = log.state()
        queues = {s.name: WorkQueue() for s in kept.standings if s.kind == "work"}
        for work in kept.work:
            # Its holder was a client of a hub that is gone. This records nothing twice: once
            # the work is claimed again, a late answer carries an old epoch.
            queues[work.subscription].put(msgspec.structs.replace(work, not_before_ns=0))
        state = cls(
            head=kept.head,
            time_ns=kept.time_ns,
            standings={s.name: s for s in kept.standings},
            passing=set(),
            filters={s.name: Filter(s.filter) for s in kept.standings},
            queues=queues,
            deadlines={d.name: d for d in kept.deadlines},
            receipts={r.client: r for r in kept.receipts},
            versions={},
            routes={},
            index=Index(),
            tally=Tally(),
            epochs=kept.epochs,
            epoch=kept.epochs[-1].id if kept.epochs else 0,
            ends=ends_of(kept.epochs),
            unclean=kept.unclean,
            ended=kept.ended,
            noted=kept.noted,
            full={s.name for s in kept.standings if lags(s)},
        )
        for standing in kept.standings:
            state.index.put(standing.name, standing.filter)
        state.count()
        return state

    def read_again(self, log: Log) -> "HubState":
        """The state as *log* has it now, with the subscriptions that are not on disk."""
        state = HubState.of(log)
        for name in self.passing:
            state.stand(self.standings[name])
        state.passing |= self.passing
        state.count()
        return state

    def count(self) -> None:
        """Count again what the hub keeps for each client."""
        kept = self.standings.values(), self.deadlines.values(), self.receipts.values()
        self.tally = tally_of(*kept)

    def refuse_lost(self, epoch: int, position: int) -> None:
        """Refuse a client that saw *position* of that epoch if the log has lost it.

        Raises:
            TailLostError: With the last common position; 0 for an unknown epoch.
        """
        if epoch not in (0, self.epoch):
            common = self.ends.get(epoch, 0)
            if position > common:
                raise TailLostError(position, common)

    def route(self, topic: str, key: str | None) -> Route:
        """The subscriptions that get an event of *topic* with *key*."""
        found = self.routes.get((topic, key))
        if found is None:
            if len(self.routes) >= ROUTES_KEPT:
                self.routes.clear()
            near = self.index.near(topic)
            wake = tuple(n for n in near if self.filters[n].matches(topic, key))
            work = tuple(n for n in wake if n in self.queues)
            named = any(self.filters[n].names(topic, key) for n in wake if n not in self.queues)
            found = Route(frozenset(wake), work, named)
            self.routes[topic, key] = found
        return found

    def ordered(self) -> set[str]:
        """Names of the ordered subscriptions."""
        return {name for name, standing in self.standings.items() if standing.kind == "ordered"}

    def settle(self, batch: Batch) -> None:
        """Apply a transaction that is on disk."""
        for name in batch.dropped:
            self._drop(name)
        for standing in batch.standings.values():
            self.stand(standing)
        for (name, _), work in batch.work.items():
            if name in self.queues:
                self.queues[name].put(work)
        for name, position in batch.finished:
            if name in self.queues:
                self.queues[name].remove(position)
        for name in batch.forgotten:
            self.deadlines.pop(name, None)
        self.deadlines.update(batch.deadlines)
        self.receipts.update(batch.receipts)

    def stand(self, standing: SubscriptionState) -> None:
        """Apply the new cursor of a subscription."""
        before = self.standings.get(standing.name)
        self.standings[standing.name] = standing
        if before is not None and before.filter == standing.filter:
            return
        if before is not None:
            self.index.drop(before.name, before.filter)
        self.index.put(standing.name, standing.filter)
        self.filters[standing.name] = Filter(standing.filter)
        if standing.kind == "work":
            self.queues.setdefault(standing.name, WorkQueue())
        self.routes.clear()

    def _drop(self, name: str) -> None:
        standing = self.standings.pop(name, None)
        if standing is not None:
            self.index.drop(name, standing.filter)
        self.passing.discard(name)
        self.filters.pop(name, None)
        self.queues.pop(name, None)
        self.full.discard(name)
        self.routes.clear()


def tally_of(
    standings: Iterable[SubscriptionState],
    deadlines: Iterable[Deadline],
    receipts: Iterable[Receipt],
) -> Tally:
    """What a hub keeps for its clients, as their limits count it."""
    tally = Tally()
    for standing in standings:
        tally.add("subscriptions", standing.name)
        tally.add("filters", standing.name, len(standing.filter))
    for deadline in deadlines:
        tally.add("deadlines", deadline.source)
    for receipt in receipts:
        if not is_lane(receipt.client):
            tally.add("receipts", receipt.client)
    return tally


class Wakeups:
    """Names of subscriptions, one by one or by the routes of events."""

    __slots__ = ("names", "routes")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.routes: dict[int, frozenset[str]] = {}  # subscriptions that a route wakes, by its id

    def take(self, among: Collection[str] | None = None) -> set[str]:
        """Remove and return the names; of a route that wakes many, only those in *among*.

        So the number of the others costs next to nothing. None: all.
        """
        woken, routes = self.names, self.routes
        if not (woken or routes):
            return set()
        self.names, self.routes = set(), {}
        for wake in routes.values():
            if among is None or len(wake) <= FEW:
                woken |= wake
            elif len(among) < len(wake):
                # A list at once: another thread may begin to watch meanwhile.
                woken.update(name for name in list(among) if name in wake)
            else:
                woken.update(name for name in wake if name in among)
        return woken
