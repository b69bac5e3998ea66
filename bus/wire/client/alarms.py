"""Alarms at given times, on a thread that starts with the first alarm."""

import threading
from collections.abc import Callable

from ...clock import lasting
from ...port import Wake
from ...timers import TimerQueue

LONGEST_S = 30.0


class Alarms:
    """Makes each call once, soon after its time."""

    def __init__(self, steady_ns: Callable[[], int]) -> None:
        self._steady_ns = steady_ns
        self._changed = threading.Condition()
        self._alarms = TimerQueue()
        self._closed = False
        self._thread: threading.Thread | None = None

    def set(self, at_ns: int, wake: Wake) -> None:
        """Call *wake* at *at_ns*; after `close` this does nothing."""
        with self._changed:
            if self._closed:
                return
            self._alarms.set(at_ns, wake)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="cortex-alarms", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Make no more calls."""
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
                now_ns, next_ns = self._steady_ns(), self._alarms.next_ns
                if next_ns is None or next_ns > now_ns:
                    left_s = LONGEST_S if next_ns is None else (next_ns - now_ns) / 1e9
                    self._changed.wait(lasting(min(left_s, LONGEST_S)))
                    continue
                due = self._alarms.due(now_ns)
            for wake in due:
                wake()
