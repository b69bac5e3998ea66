"""What becomes of a shell that fails or hangs: a state machine, with no thread and no clock."""

import msgspec

from cortex.bus import Backoff

BACKOFF = Backoff(first_s=0.1, longest_s=30.0, forgiven_s=60.0)
START_NS = 30_000_000_000  # a component must be ready within this


class Watched(msgspec.Struct, frozen=True):
    """One shell as its supervisor sees it."""

    status: str = "new"  # "starting", "running", "waiting" for its backoff, "stopped"
    since_ns: int = 0  # of this status
    failures: int = 0  # in a row
    reason: str = ""


class Start(msgspec.Struct, frozen=True):
    """Make a new shell."""


class Abandon(msgspec.Struct, frozen=True):
    """Let go of the shell: it hangs, and a thread cannot be killed."""

    reason: str


class WakeAt(msgspec.Struct, frozen=True):
    """Look again at this time."""

    at_ns: int


class Restarted(msgspec.Struct, frozen=True):
    """Tell the log that the component works again."""

    reason: str
    times: int


Order = Start | Abandon | WakeAt | Restarted
Result = tuple[Watched, tuple[Order, ...]]


def begin(now_ns: int) -> Result:
    """Start a shell for the first time."""
    return Watched("starting", now_ns), (Start(), WakeAt(now_ns + START_NS))


def started(watched: Watched, now_ns: int) -> Result:
    """The component is ready."""
    if watched.status != "starting":
        return watched, ()
    orders: tuple[Order, ...] = ()
    if watched.failures:
        orders = (Restarted(watched.reason, watched.failures),)
    return msgspec.structs.replace(watched, status="running", since_ns=now_ns), orders


def failed(watched: Watched, reason: str, now_ns: int) -> Result:
    """The shell ended by itself."""
    if watched.status in ("stopped", "waiting"):
        return watched, ()
    worked_s = (now_ns - watched.since_ns) / 1e9 if watched.status == "running" else 0.0
    failures = BACKOFF.failures(watched.failures, worked_s)
    again_ns = now_ns + BACKOFF.after_ns(failures)
    return Watched("waiting", now_ns, failures, reason), (WakeAt(again_ns),)


def hung(watched: Watched, reason: str, now_ns: int) -> Result:
    """The shell is at one event for longer than it may be."""
    if watched.status not in ("running", "starting"):
        return watched, ()
    watched, orders = failed(watched, reason, now_ns)
    return watched, (Abandon(reason), *orders)


def looked_at(watched: Watched, now_ns: int) -> Result:
    """The time of an earlier `WakeAt` has come."""
    if watched.status == "waiting":
        again_ns = watched.since_ns + BACKOFF.after_ns(watched.failures)
        if now_ns < again_ns:
            return watched, (WakeAt(again_ns),)
        again = msgspec.structs.replace(watched, status="starting", since_ns=now_ns)
        return again, (Start(), WakeAt(now_ns + START_NS))
    if watched.status == "starting" and now_ns >= watched.since_ns + START_NS:
        return hung(watched, "it was not ready in time", now_ns)
    return watched, ()


def stopped(watched: Watched, now_ns: int) -> Result:
    """The runtime ends; nothing is started any more."""
    return Watched("stopped", now_ns, watched.failures, watched.reason), ()
