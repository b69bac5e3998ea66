"""Seals by policy, in a thread of its own, whenever the log has grown by a segment."""

import threading

from cortex.bus import CortexError, Logger
from cortex.bus.events import LogAnswer

from .sealing import SEGMENT, Publish, Sealer, due
from .sqlite import EventLog

POLICY = "policy"  # who asked, in the event
LATER_S = 1.0  # lets a starting program finish first, which needs the GIL

logger = Logger("cortex.log")


class Archiver:
    """Keeps a log within its policy, and seals what a person asks for.

    It looks at the start, and then each time that the log has grown by a segment: a log that does
    not grow needs no sealing.

    Args:
        log: The log, which this process owns.
        publish: Records events; returns once they are on disk.
        age_ns: Records that are so much older than the newest one are sealed; 0 for none.
        table_bytes: Records are sealed while log.db has more in use; 0 for none.
    """

    def __init__(self, log: EventLog, publish: Publish, *, age_ns: int, table_bytes: int) -> None:
        self._log, self._age_ns, self._table_bytes = log, age_ns, table_bytes
        self._ending = threading.Event()
        self._grown = threading.Event()
        self._turn = threading.Lock()  # one segment at a time
        self._sealer = Sealer(log, publish, self._ending.wait)
        self._next = 0
        self._thread = threading.Thread(target=self._run, name="cortex-archive", daemon=True)

    def start(self) -> None:
        """Look at the log now, and whenever it has grown."""
        self._grown.set()
        self._log.appended = self._appended
        self._thread.start()

    def close(self) -> None:
        """End soon, in the middle of a segment if need be; the next start goes on."""
        self._log.appended = None
        self._ending.set()
        self._grown.set()
        if self._thread.is_alive():
            self._thread.join()

    def answer(self, through: int, by: str) -> LogAnswer:
        """Seal the next segment, at most up to position *through*, for who asked.

        Raises:
            LogError: A record is damaged, or the file cannot be written.
        """
        with self._turn:
            return self._sealer.answer(through, by)

    def _appended(self, head: int) -> None:
        if head >= self._next:
            self._next = head + SEGMENT
            self._grown.set()

    def _run(self) -> None:
        self._ending.wait(LATER_S)
        while not self._ending.is_set():
            self._grown.wait()
            self._grown.clear()
            try:
                self._keep_policy()
            except CortexError as error:  # the log stays as it is; once it has grown, again
                logger.warning("log_not_sealed", error=str(error), sealed=self._log.archive.through)

    def _keep_policy(self) -> None:
        with self._turn:
            self._sealer.trim()  # what a kill, or the end of a hub, has left
        while not self._ending.is_set():
            with self._turn:
                through = due(self._log, self._age_ns, self._table_bytes)
                if not through or self._sealer.seal(through, POLICY) is None:
                    return
