"""One thread for the timeouts of all connections and for the callbacks of nng."""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from ...clock import lasting

LONGEST_S = 1.0  # between two checks
SHORTEST_NS = 1_000_000  # the same, if something is always due
JOIN_S = 5.0

Job = Callable[[], None]


class Watchman:
    """Calls *look* when something is due, and at least once a second.

    Args:
        steady_ns: The clock.
        look: Does what is due by a time (ns), and returns when something is due next; None if
            nothing is known. It must not block.
        failed: Handles an exception of `look`.
    """

    def __init__(
        self,
        steady_ns: Callable[[], int],
        look: Callable[[int], int | None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._steady_ns, self._look_at, self._failed = steady_ns, look, failed
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._next_ns = 0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="cortex-watch-wire", daemon=True)
        self._thread.start()

    def soon(self, job: Job) -> None:
        """Run *job* in the thread; it must return soon."""
        self._jobs.put(job)

    def due(self, at_ns: int) -> None:
        """Call *look* at *at_ns*, too."""
        if at_ns < self._next_ns:
            self._next_ns = at_ns
            self._jobs.put(None)

    def close(self) -> None:
        """Stop the thread."""
        self._closed = True
        self._jobs.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join(lasting(JOIN_S))

    def _run(self) -> None:
        while not self._closed:
            now_ns = self._steady_ns()
            self._next_ns = now_ns + int(LONGEST_S * 1e9)
            try:
                due_ns = self._look_at(now_ns)
            except Exception as error:  # noqa: BLE001  # the next look may be at others
                due_ns = None
                self._failed(error)
            if due_ns is not None:
                self._next_ns = min(self._next_ns, max(due_ns, now_ns + SHORTEST_NS))
            self._do_until_then()

    def _do_until_then(self) -> None:
        while not self._closed:
            left_s = (self._next_ns - self._steady_ns()) / 1e9
            if left_s <= 0:
                return
            try:
                job = self._jobs.get(timeout=lasting(left_s))
            except Empty:
                return
            if job is not None:
                job()
