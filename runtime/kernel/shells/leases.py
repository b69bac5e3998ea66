"""Renews the leases of working shells; handlers never do."""

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from cortex.bus import (
    Answer,
    Claim,
    Claimed,
    Clock,
    CortexError,
    Finish,
    Refused,
    Release,
    Renew,
    Request,
    StandDown,
)

BACK_NS = 100_000_000  # backoff of work that a failed shell releases
GRACE_NS = 5_000_000_000  # time for a handler to report its own timeout
UNBOUNDED_NS = 3_600_000_000_000  # an event without a timeout is held at most this long


class LeaseHub(Protocol):
    """The parts of a hub that leases use."""

    @property
    def clock(self) -> Clock:
        """Its clock."""
        ...

    def alarm(self, at_ns: int, wake: Callable[[], None]) -> None:
        """Call *wake* once at *at_ns* of its steady clock."""
        ...

    def submit(self, client: str, requests: Sequence[Request]) -> Sequence[Answer]:
        """Answer *requests*."""
        ...


class Held(msgspec.Struct):
    """One claimed event in progress."""

    shell: str
    subscription: str
    position: int
    epoch: int
    lease_ns: int
    until_ns: int  # not renewed after this; then it lapses, and another worker gets it
    log_epoch: int = 0  # epoch of the log at the claim
    lost: bool = False  # another worker has it; kept, because the shell may hang at it


class Leases:
    """The events that this process's workers hold; renewed at a third of their lease."""

    def __init__(self, hub: LeaseHub, *, standing: bool = False) -> None:
        self._hub = hub
        self._standing = standing  # whether the shells make standing claims
        self._steady_ns = hub.clock.monotonic_ns
        self._lock = threading.Lock()
        self._held: dict[tuple[str, int], Held] = {}
        self._next_ns: int | None = None

    def hold(self, shell: str, step: Sequence[Request], claimed: Claimed) -> None:
        """Note the work that *shell* got for its `Claim`."""
        claim = next(r for r in step if isinstance(r, Claim))
        now_ns = self._steady_ns()
        with self._lock:
            for lease in claimed.leases:
                record = lease.record
                self._held[claim.subscription, record.position] = Held(
                    shell,
                    claim.subscription,
                    record.position,
                    lease.epoch,
                    claim.lease_ns,
                    now_ns + _bound_ns(record.body),
                    lease.log_epoch,
                )
        if claimed.leases:
            self._arm(now_ns + claim.lease_ns // 3)

    def let_go(self, step: Sequence[Request]) -> None:
        """Note work that is finished or released."""
        for request in step:
            if isinstance(request, Finish | Release):
                key = (request.subscription, request.position)
                with self._lock:
                    held = self._held.get(key)
                    # When a slow worker is done, another one may already hold the event.
                    if held is not None and held.epoch == request.epoch:
                        del self._held[key]

    def drop(self, shell: str, *, give_back: bool = False) -> None:
        """Stop renewing the work of *shell*; it lapses, or is released at once."""
        with self._lock:
            dropped = [h for h in self._held.values() if h.shell == shell]
            self._held = {k: h for k, h in self._held.items() if h.shell != shell}
        if give_back and (dropped or self._standing):
            freed: list[Request] = [
                Release(h.subscription, h.position, h.epoch, BACK_NS, h.log_epoch) for h in dropped
            ]
            freed += [StandDown(shell)] if self._standing else []
            with contextlib.suppress(CortexError):  # otherwise it lapses
                self._hub.submit("leases", freed)

    def overdue(self, shell: str, now_ns: int) -> bool:
        """Whether *shell* has held an event for too long."""
        with self._lock:
            return any(h.shell == shell and now_ns > h.until_ns for h in self._held.values())

    def _arm(self, at_ns: int) -> None:
        with self._lock:
            if self._next_ns is not None and self._next_ns <= at_ns:
                return
            self._next_ns = at_ns
        self._hub.alarm(at_ns, lambda: self._renew(at_ns))

    def _renew(self, at_ns: int) -> None:
        now_ns = self._steady_ns()
        with self._lock:
            if at_ns != self._next_ns:
                return  # an earlier alarm replaced it
            self._next_ns = None
            due = [h for h in self._held.values() if now_ns <= h.until_ns and not h.lost]
        if not due:
            return
        renewals = [
            Renew(h.subscription, h.position, h.epoch, h.lease_ns, h.log_epoch) for h in due
        ]
        with contextlib.suppress(CortexError):  # a lapsed lease only repeats the work
            for held, answer in zip(due, self._hub.submit("leases", renewals), strict=True):
                held.lost = isinstance(answer, Refused)
        self._arm(now_ns + min(h.lease_ns for h in due) // 3)


def _bound_ns(body: bytes) -> int:
    try:
        timeout_s = _TIMEOUT(body).timeout_s
    except msgspec.MsgspecError:
        timeout_s = None
    return UNBOUNDED_NS if timeout_s is None else int(timeout_s * 1e9) + GRACE_NS


class _Timed(msgspec.Struct):
    timeout_s: float | None = None


_TIMEOUT = msgspec.msgpack.Decoder(_Timed).decode
