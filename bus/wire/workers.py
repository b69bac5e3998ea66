"""Threads for what may take its time: started when one is wanted, ended when none is."""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from ..clock import lasting

MOST = 64  # jobs that are done at the same time; the others wait
IDLE_S = 10.0  # after which a thread that has nothing to do ends
JOIN_S = 5.0

Job = Callable[[], None]


class Workers:
    """Does jobs, in the order in which they come.

    Args:
        name: Of the threads.
        failed: What becomes of an exception that a job lets escape.
        most: Threads at the same time.
    """

    def __init__(self, name: str, failed: Callable[[Exception], None], most: int = MOST) -> None:
        self._name, self._failed, self._most = name, failed, most
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._closed = False

    def do(self, job: Job) -> None:
        """Do *job* in one of the threads; it does not wait for that."""
        self._jobs.put(job)
        if self._idle.acquire(blocking=False):
            return
        with self._lock:
            if len(self._threads) < self._most and not self._closed:
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._threads.add(thread)
                thread.start()

    def close(self) -> None:
        """Do what is waiting, and wait for it."""
        with self._lock:
            self._closed = True
            threads = list(self._threads)
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(lasting(JOIN_S))

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except Exception as error:  # noqa: BLE001  # the next job is another's
                self._failed(error)
        with self._lock:
            self._threads.discard(threading.current_thread())

    def _next(self) -> Job | None:
        try:
            return self._jobs.get_nowait()
        except Empty:
            self._idle.release()
        while True:
            try:
                return self._jobs.get(timeout=lasting(IDLE_S))
            except Empty:
                if self._idle.acquire(blocking=False):
                    return None  # and nobody counts on it
