"""Decides what happens to a shell or a plugin that fails: a state machine, no thread or clock.

One driver obeys it, `Supervisor`; the simulator has another, on virtual time.
"""

import msgspec

from cortex.bus import Backoff

START_NS = 30_000_000_000  # time for a component to become ready


class Restarts(msgspec.Struct, frozen=True):
    """How soon something that failed is started again, and how often."""

    backoff: Backoff
    most: int | None = None  # failures in a row that are allowed; None for any number
    ready_ns: int | None = START_NS  # time to become ready; None for one that watches that itself


SHELLS = Restarts(Backoff(first_s=0.1, longest_s=30.0, forgiven_s=60.0))


class Watched(msgspec.Struct, frozen=True):
    """One shell or plugin as its supervisor sees it."""

    status: str = "new"  # "starting", "running", "waiting" for its backoff, "stopped", "given up"
    since_ns: int = 0  # of this status
    failures: int = 0  # in a row
    reason: str = ""
    again_ns: int = 0  # when its backoff is over


class Start(msgspec.Struct, frozen=True):
    """Start a new shell."""


class Abandon(msgspec.Struct, frozen=True):
    """Abandon the shell: it hangs, and a thread cannot be killed."""

    reason: str


class WakeAt(msgspec.Struct, frozen=True):
    """Call `looked_at` again at this time."""

    at_ns: int


class Restarted(msgspec.Struct, frozen=True):
    """Record that the component works again."""

    reason: str
    times: int


Order = Start | Abandon | WakeAt | Restarted
Result = tuple[Watched, tuple[Order, ...]]


def begin(now_ns: int, restarts: Restarts = SHELLS) -> Result:
    """Start a shell for the first time."""
    return Watched("starting", now_ns), _start(now_ns, restarts)


def afresh(watched: Watched, now_ns: int, restarts: Restarts) -> Result:
    """What is to run has changed: unless it runs already, earlier failures do not count."""
    if watched.status in ("waiting", "given up"):
        return begin(now_ns, restarts)
    if watched.status == "starting":
        return msgspec.structs.replace(watched, failures=0, reason=""), ()
    return watched, ()


def started(watched: Watched, now_ns: int) -> Result:
    """The component is ready."""
    if watched.status != "starting":
        return watched, ()
    orders: tuple[Order, ...] = ()
    if watched.failures:
        orders = (Restarted(watched.reason, watched.failures),)
    return msgspec.structs.replace(watched, status="running", since_ns=now_ns), orders


def failed(watched: Watched, reason: str, now_ns: int, restarts: Restarts = SHELLS) -> Result:
    """The shell ended by itself."""
    if watched.status in ("stopped", "waiting", "given up"):
        return watched, ()
    worked_s = (now_ns - watched.since_ns) / 1e9 if watched.status == "running" else 0.0
    failures = restarts.backoff.failures(watched.failures, worked_s)
    if restarts.most is not None and failures > restarts.most:
        return Watched("given up", now_ns, failures, reason), ()
    again_ns = now_ns + restarts.backoff.after_ns(failures)
    return Watched("waiting", now_ns, failures, reason, again_ns), (WakeAt(again_ns),)


def hung(watched: Watched, reason: str, now_ns: int, restarts: Restarts = SHELLS) -> Result:
    """The shell has worked on one event for too long."""
    if watched.status not in ("running", "starting"):
        return watched, ()
    watched, orders = failed(watched, reason, now_ns, restarts)
    return watched, (Abandon(reason), *orders)


def looked_at(watched: Watched, now_ns: int, restarts: Restarts = SHELLS) -> Result:
    """The time of an earlier `WakeAt` has come."""
    if watched.status == "waiting":
        if now_ns < watched.again_ns:
            return watched, (WakeAt(watched.again_ns),)
        again = msgspec.structs.replace(watched, status="starting", since_ns=now_ns)
        return again, _start(now_ns, restarts)
    late = restarts.ready_ns is not None and now_ns >= watched.since_ns + restarts.ready_ns
    if watched.status == "starting" and late:
        return hung(watched, "it was not ready in time", now_ns, restarts)
    return watched, ()


def stopped(watched: Watched, now_ns: int) -> Result:
    """The runtime ends; no more shells are started."""
    return Watched("stopped", now_ns, watched.failures, watched.reason), ()


def _start(now_ns: int, restarts: Restarts) -> tuple[Order, ...]:
    if restarts.ready_ns is None:
        return (Start(),)
    return Start(), WakeAt(now_ns + restarts.ready_ns)
