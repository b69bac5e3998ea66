"""Shells that rest: a component that only takes work needs no thread while it has none."""

import threading
from collections.abc import Callable, Iterable

from cortex.bus import Claim, Claimed, CortexError, HubPort

REST_NS = 60_000_000_000  # without work, after which a shell ends until there is some


class Resting:
    """The workers of one component that have no shell, and begin when its subscription wakes.

    Args:
        hub: Where the work is.
        name: The component's, and its subscription's.
        begin: Starts the shell of a label, and returns at once.
        labels: Of the workers, which all rest now.
    """

    def __init__(
        self, hub: HubPort, name: str, begin: Callable[[str], None], labels: Iterable[str]
    ) -> None:
        self._hub, self._name, self._begin = hub, name, begin
        self._lock = threading.Lock()
        self._labels = frozenset(labels)
        self._ended = False

    def start(self) -> None:
        """Wake with the work that comes from now on, and for what waits already."""
        self._hub.watch(self._name, self.wake)
        self._look()

    def wake(self) -> None:
        """Begin all that rest: there may be work. It returns at once, on any thread."""
        if not self._labels:  # each event for the component comes here: mostly all are at work
            return
        with self._lock:
            labels, self._labels = self._labels, frozenset()
            if not self._ended:
                for label in sorted(labels):
                    self._begin(label)

    def rest(self, label: str) -> None:
        """Take note that *label* has no shell any more, unless work came in that moment."""
        with self._lock:
            self._labels |= {label}
        self._look()

    def end(self) -> None:
        """Begin nothing any more."""
        with self._lock:
            self._ended, self._labels = True, frozenset()
        self._hub.unwatch(self._name, self.wake)

    def _look(self) -> None:
        """Wake where work waits already."""
        try:
            found = self._hub.ask_one(self._name, Claim(self._name, 0, 1))
        except CortexError:
            return  # the hub goes, and the component with it
        if isinstance(found, Claimed) and found.waiting:
            self.wake()
