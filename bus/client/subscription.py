"""The client's side of a subscription: events in order with a cursor, or work with leases."""

import contextlib
import threading
from collections.abc import Generator, Sequence
from typing import TypeVar

from ..clock import lasting, steady_s
from ..epochs import Epoch, Epochs, common_when_told, moved_on
from ..errors import CortexError, TailLostError
from ..event import Draft, Event, Recorded
from ..port import HubPort
from ..requests import (
    Answer,
    Appended,
    Claim,
    Claimed,
    Commit,
    Fetch,
    Finish,
    Lease,
    Pair,
    Release,
    Renew,
    Request,
    Subscribe,
    Subscribed,
    Unsubscribe,
)

LEASE_S = 30.0
SECOND_NS = 1_000_000_000
Kind = TypeVar("Kind", bound=Answer)


class Subscription:
    """Matching events in order, from a cursor that the hub keeps."""

    def __init__(
        self, hub: HubPort, client: str, name: str, pairs: Sequence[Pair], start: str
    ) -> None:
        self.name = name
        self._hub, self._client = hub, client
        self._wanted = Subscribe(name, "ordered", tuple(pairs), start)
        self._ring: int = -1
        self.cursor = self._seen = 0
        self.resume()

    def resume(self) -> None:
        """Go back to the cursor: events that were returned and not committed are returned again."""
        standing = _kind(self._hub.ask_one(self._client, self._wanted), Subscribed)
        self.cursor = self._seen = standing.cursor
        epochs = self._hub.epochs
        known = _newest(epochs) == standing.log_epoch  # otherwise the hub has changed already
        self._epochs = epochs if known else (Epoch(standing.log_epoch, 0),)

    def next(self, wait_s: float = 0.0) -> list[Recorded]:
        """The events after the last ones; waits up to *wait_s* if there are none.

        Raises:
            TailLostError: The log has lost some of the returned events: drop those. The next call
                continues from the hub's cursor.
        """
        request = Fetch(
            self.name, self._seen, ring_after=self._ring, log_epoch=_newest(self._epochs)
        )
        with self._going_back():
            page = self._hub.fetch(request, wait_s)
        self._epochs = moved_on(self._epochs, self._seen, page.log_epoch)
        self._seen, self._ring = page.through, page.ring_through
        return [*page.records, *page.ephemeral]

    def commit(self, *events: Event, through: int | None = None) -> int:
        """Move the cursor and append *events* in one transaction.

        Args:
            events: The results of the events that the cursor passes.
            through: The new cursor; None for the last returned event.

        Returns:
            Position of the last of *events*; 0 if there are none.

        Raises:
            CursorError: Another client moved the cursor; nothing was appended. Call `resume`.
            TailLostError: As for `next`; nothing was appended.
        """
        position = max(self.cursor, self._seen if through is None else through)
        drafts = tuple(Draft.of(event) for event in events)
        request = Commit(self.name, self.cursor, position, drafts, log_epoch=_newest(self._epochs))
        with self._going_back():
            answer = _kind(self._hub.ask_one(self._client, request), Appended)
        self.cursor = position
        return answer.last

    def remove(self) -> None:
        """Remove the subscription with its cursor."""
        self._hub.ask_one(self._client, Unsubscribe(self.name))

    @contextlib.contextmanager
    def _going_back(self) -> Generator[None, None, None]:
        """Subscribe again after the log has lost its tail, and perhaps this subscription."""
        try:
            yield
        except TailLostError as told:
            seen, before = self._seen, self._epochs
            self.resume()
            common = common_when_told(self._epochs, before, seen, told.common)
            # It may be a new one, with a cursor after events that replaced the lost ones.
            self._seen = min(self.cursor, common)
            raise TailLostError(seen, common) from None


class WorkSubscription:
    """Matching events, each delivered to one of any number of workers."""

    def __init__(self, hub: HubPort, client: str, name: str, pairs: Sequence[Pair]) -> None:
        self.name = name
        self._hub, self._client = hub, client
        self._wanted = Subscribe(name, "work", tuple(pairs))
        hub.ask_one(client, self._wanted)

    def claim(
        self, limit: int = 1, *, wait_s: float = 0.0, lease_s: float = LEASE_S
    ) -> Sequence[Lease]:
        """Up to *limit* events, leased to this worker for *lease_s*.

        Waits up to *wait_s* if there are none.
        """
        leases = self._claim(limit, lease_s)
        if leases or wait_s <= 0:
            return leases
        until_s, there = steady_s() + wait_s, threading.Event()
        self._hub.watch(self.name, there.set)
        try:
            while not (leases := self._claim(limit, lease_s)):
                if not there.wait(lasting(max(0.0, until_s - steady_s()))):
                    return ()
                there.clear()
        finally:
            self._hub.unwatch(self.name, there.set)
        return leases

    def finish(self, lease: Lease, *events: Event) -> int:
        """End one event's work and append its results, in one transaction.

        Raises:
            LeaseLostError: Another worker has it, or had it: drop the result.
            TailLostError: The log has lost the event: drop the result.
        """
        at = lease.record
        drafts = tuple(
            Draft.of(event, correlation=at.correlation, causation=at.position) for event in events
        )
        request = Finish(self.name, at.position, lease.epoch, drafts, log_epoch=lease.log_epoch)
        return _kind(self._ask(request), Appended).last

    def renew(self, lease: Lease, lease_s: float = LEASE_S) -> None:
        """Extend the lease of an event by *lease_s*.

        Raises:
            LeaseLostError: Another worker has it.
        """
        held_ns = int(lease_s * SECOND_NS)
        self._ask(Renew(self.name, *_held(lease), held_ns, lease.log_epoch))

    def release(self, lease: Lease, backoff_s: float = 0.0) -> None:
        """Give an event back; no worker gets it for *backoff_s*.

        Raises:
            LeaseLostError: Another worker has it.
        """
        rest_ns = int(backoff_s * SECOND_NS)
        self._ask(Release(self.name, *_held(lease), rest_ns, lease.log_epoch))

    def _claim(self, limit: int, lease_s: float) -> Sequence[Lease]:
        request = Claim(self.name, limit, int(lease_s * SECOND_NS))
        return _kind(self._ask(request), Claimed).leases

    def _ask(self, request: Request) -> Answer:
        try:
            return self._hub.ask_one(self._client, request)
        except TailLostError:  # the subscription may be lost, too
            self._hub.ask_one(self._client, self._wanted)
            raise


def _newest(epochs: Epochs) -> int:
    return epochs[-1].id if epochs else 0


def _held(lease: Lease) -> tuple[int, int]:
    return lease.record.position, lease.epoch


def _kind(answer: Answer, kind: type[Kind]) -> Kind:
    if not isinstance(answer, kind):
        raise CortexError(f"{kind.__name__} was expected, {type(answer).__name__} came")
    return answer
