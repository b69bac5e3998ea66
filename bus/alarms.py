"""A thread that makes calls at given times."""

import threading
from collections.abc import Callable

from .clock import lasting
from .port import Wake
from .timers import TimerQueue

LONGEST_S = 30.0  # of a sleep, because the clock may be set meanwhile


class ClockThread:
    """Calls its owner when that has something to do, and makes the calls that are due.

    Args:
        steady_ns: The clock.
        fire: Called on the thread at each time that was given to `ring_at`, or soon after.
        name: Of the thread.
    """

    def __init__(
        self,
        steady_ns: Callable[[], int],
        fire: Callable[[], None] = lambda: None,
        name: str = "cortex-clock",
    ) -> None:
        self._steady_ns, self._fire = steady_ns, fire
        self._changed = threading.Condition()
        self._due_ns: int | None = None  # when there is something to do
        self._alarms = TimerQueue()
        self._begun = self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def begin(self) -> None:
        """Start the thread, unless it was started or stopped before."""
        with self._changed:
            if not (self._begun or self._stopped):
                self._begun = True
                self._thread.start()

    def look(self) -> None:
        """Look at the clock now."""
        with self._changed:
            self._due_ns = self._steady_ns()
            self._changed.notify_all()

    def ring_at(self, at_ns: int) -> None:
        """Fire at *at_ns*, unless it fires earlier; then the owner says again what is next."""
        if self._due_ns is not None and self._due_ns <= at_ns:
            return
        with self._changed:
            if self._due_ns is None or at_ns < self._due_ns:
                self._due_ns = at_ns
                self._changed.notify_all()

    def alarm(self, at_ns: int, wake: Wake) -> None:
        """Call *wake* once at *at_ns*; it must return soon."""
        with self._changed:
            self._alarms.set(at_ns, wake)
        self.ring_at(at_ns)

    def stop(self) -> None:
        """Make no more calls."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def join(self) -> None:
        """Wait until the thread has ended, unless this is the thread."""
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                due_ns = self._due_ns
                sleep_s = LONGEST_S if due_ns is None else (due_ns - self._steady_ns()) / 1e9
                if sleep_s > 0 and self._changed.wait(lasting(min(sleep_s, LONGEST_S))):
                    continue  # an earlier time was set, or it stops
                self._due_ns = None
            self._fire()
            self._sound()

    def _sound(self) -> None:
        with self._changed:
            due, next_ns = self._alarms.due(self._steady_ns()), self._alarms.next_ns
        for wake in due:
            wake()
        if next_ns is not None:
            self.ring_at(next_ns)
