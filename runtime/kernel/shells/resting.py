"""Resting shells: a component that only takes work needs no thread while there is none.

A thread is quick to start, so it ends soon. A child process or a connection is not: it is kept
longer.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable

from cortex.bus import Claim, Claimed, CortexError, HubPort

from ..hosts.host import Host

REST_NS = 500_000_000  # a shell's thread ends after this long without work
KEEP_NS = 60_000_000_000  # a child process or a connection ends after this


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
