"""Threads for jobs that may take long: started when one is needed, ended when idle."""

import threading
from collections import deque
from collections.abc import Callable

from ...clock import lasting

MOST = 64  # concurrent jobs; the others wait
IDLE_S = 10.0  # an idle thread ends after this
JOIN_S = 5.0

Job = Callable[[], None]


class Workers:
    """Runs jobs, in the order in which they come.

    Args:
        name: The name of the threads.
        failed: Handles an exception that a job raises.
        most: Maximum number of threads.
    """

    def __init__(self, name: str, failed: Callable[[Exception], None], most: int = MOST) -> None:
        self._name, self._failed, self._most = name, failed, most
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._idle = 0
        self._threads: set[threading.Thread] = set()
        self._closed = False

    def do(self, job: Job) -> None:
        """Run *job* in one of the threads; returns at once."""
        with self._changed:
            self._jobs.append(job)
            if len(self._jobs) <= self._idle:
                self._changed.notify()
            elif len(self._threads) < self._most and not self._closed:
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._threads.add(thread)
                thread.start()

    def close(self) -> None:
        """Finish the waiting jobs, and wait for them."""
        with self._changed:
            self._closed = True
            threads = list(self._threads)
            self._changed.notify_all()
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(lasting(JOIN_S))

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except Exception as error:  # noqa: BLE001  # the next job is another's
                self._failed(error)

    def _next(self) -> Job | None:
        with self._changed:
            while not self._jobs:
                self._idle += 1
                woken = not self._closed and self._changed.wait(lasting(IDLE_S))
                self._idle -= 1
                if not woken and not self._jobs:
                    self._threads.discard(threading.current_thread())
                    return None
            return self._jobs.popleft()
