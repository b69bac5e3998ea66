"""Alarms at given times, on a thread that starts with the first alarm."""

import heapq
import itertools
import threading
from collections.abc import Callable

from ..clock import lasting
from ..port import Wake

LONGEST_S = 30.0


class Alarms:
    """Calls back once each, soon after its time."""

    def __init__(self, steady_ns: Callable[[], int]) -> None:
        self._steady_ns = steady_ns
        self._changed = threading.Condition()
        self._alarms: list[tuple[int, int, Wake]] = []  # heap; the count keeps wakes uncompared
        self._count = itertools.count()
        self._closed = False
        self._thread: threading.Thread | None = None

    def set(self, at_ns: int, wake: Wake) -> None:
        """Call *wake* at *at_ns*; after `close` this does nothing."""
        with self._changed:
            if self._closed:
                return
            heapq.heappush(self._alarms, (at_ns, next(self._count), wake))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="cortex-alarms", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Call nobody any more."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                now_ns = self._steady_ns()
                if not self._alarms or self._alarms[0][0] > now_ns:
                    left_s = (self._alarms[0][0] - now_ns) / 1e9 if self._alarms else LONGEST_S
                    self._changed.wait(lasting(min(left_s, LONGEST_S)))
                    continue
                wake = heapq.heappop(self._alarms)[2]
            wake()
