"""Resting shells: a component needs no thread while it has nothing to do.

A thread is quick to start, so it ends soon. A child process or a connection is not: it is kept
longer. An ordered component keeps what it knows, and goes on in another thread.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable

import msgspec

from cortex.bus import Claim, Claimed, CortexError, HubPort

from ..hosts.host import Host
from .feed import Program

REST_NS = 500_000_000  # a shell's thread ends after this long without work
KEEP_NS = 60_000_000_000  # a child process or a connection ends after this


class Pulse(msgspec.Struct):
    """The state of a shell that other threads may read and set without its mailbox."""

    busy_since_ns: int = 0  # by the hub's steady clock; 0 while it waits
    rung: bool = False  # a `Wake` is in the mailbox
    abandoned: bool = False  # another shell does its work now: end as soon as possible
    ending: bool = False  # a `Stop` is in the mailbox: begin nothing long
    dormant: bool = False  # it has no thread, and has to be resumed


class Dormant:
    """Keeps the program and the host of an ordered component that has no thread.

    Args:
        resume: Starts the component's shell; returns at once.
    """

    def __init__(self, resume: Callable[[], object]) -> None:
        self._resume = resume
        self._lock = threading.Lock()
        self._kept: tuple[Program, Host] | None = None
        self._resuming = self._ended = False

    def keep(self, program: Program, host: Host, pulse: Pulse) -> bool:
        """Keep both until the next wakeup; False if one has come already."""
        with self._lock:
            pulse.dormant = True  # before the look: who rings sets `rung`, and then looks at this
            if pulse.rung or self._ended:
                pulse.dormant = False
                return False
            self._kept, self._resuming = (program, host), False
            return True

    def wake(self) -> None:
        """Resume the component if it has no thread. Returns at once, on any thread."""
        with self._lock:
            if self._kept is not None and not self._resuming and not self._ended:
                self._resuming = True
                self._resume()

    def take(self) -> tuple[Program, Host] | None:
        """Take what is kept; None if nothing is."""
        with self._lock:
            kept, self._kept = self._kept, None
        return kept

    def end(self) -> None:
        """Keep and resume nothing any more."""
        with self._lock:
            self._ended = True


class Resting:
    """Workers of one component without a shell, which start when its subscription wakes.

    Args:
        hub: The hub with the work.
        name: The name of the component and its subscription.
        begin: Starts the shell of a label; returns at once.
        labels: Labels of the workers, which all rest now.
    """

    def __init__(
        self, hub: HubPort, name: str, begin: Callable[[str], None], labels: Iterable[str]
    ) -> None:
        self._hub, self._name, self._begin = hub, name, begin
        self._lock = threading.Lock()
        self._labels: frozenset[str] = frozenset(labels)
        self._ended = False

    def start(self) -> None:
        """Start workers for new work, and for work that waits already."""
        self._hub.watch(self._name, self.wake)
        self._look()

    def wake(self) -> None:
        """Start all resting workers: there may be work. Returns at once, on any thread."""
        if not self._labels:  # called for each event; usually all are running
            return
        with self._lock:
            labels, self._labels = self._labels, frozenset[str]()
            if not self._ended:
                for label in sorted(labels):
                    self._begin(label)

    def rest(self, label: str) -> None:
        """Note that *label* has no shell any more, unless work came meanwhile."""
        with self._lock:
            self._labels |= {label}
        self._look()

    def end(self) -> None:
        """Start nothing any more."""
        with self._lock:
            self._ended, self._labels = True, frozenset[str]()
        self._hub.unwatch(self._name, self.wake)

    def _look(self) -> None:
        """Start workers if work waits already."""
        try:
            found = self._hub.ask_one(self._name, Claim(self._name, 0, 1))
        except CortexError:
            return  # the hub closes, and the component with it
        if isinstance(found, Claimed) and found.waiting:
            self.wake()


class KeptHosts:
    """Hosts without a shell, by the label of their next shell."""

    def __init__(self, hub: HubPort) -> None:
        self._hub = hub
        self._lock = threading.Lock()
        self._hosts: dict[str, tuple[Host, int]] = {}  # and its expiry, steady; 0 for never
        self._ended = False

    def keep(self, label: str, host: Host, for_ns: int = 0) -> None:
        """Keep *host* for the next shell under *label*; stop it after *for_ns*, if given."""
        until_ns = self._hub.steady_ns() + for_ns if for_ns else 0
        with self._lock:
            ended = self._ended
            if not ended:
                self._hosts[label] = host, until_ns
        if ended:  # its shell began to rest while the others were stopped
            _stop(host)
        elif until_ns:
            self._hub.alarm(until_ns, lambda: self._let_go(label, host))

    def take(self, label: str) -> Host | None:
        """Take the host that was kept for *label*."""
        with self._lock:
            host, _ = self._hosts.pop(label, (None, 0))
        return host

    def stop_all(self) -> None:
        """Stop all kept hosts, and those that are added from now on."""
        with self._lock:
            self._ended = True
            hosts, self._hosts = self._hosts, {}
        for host, _ in hosts.values():
            _stop(host)

    def _let_go(self, label: str, host: Host) -> None:
        with self._lock:
            kept, until_ns = self._hosts.get(label, (None, 0))
            if kept is not host or self._hub.steady_ns() < until_ns:  # it is in use again
                return
            del self._hosts[label]
        # Not on the clock's thread: a process gets some time to end cleanly.
        threading.Thread(target=_stop, args=(host,), name="cortex-rest", daemon=True).start()


def _stop(host: Host) -> None:
    with contextlib.suppress(Exception):  # nothing is running in it
        host.stop()
