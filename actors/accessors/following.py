"""Keeps projections up to date: few events at once, many in a thread beside the caller."""

import threading

from cortex.bus import Log, Logger, steady_s
from cortex.runtime.projections import Runner

LATER_S = 1.0  # lets a starting program finish first, which needs the GIL

log = Logger("cortex.actors")


class Following:
    """Advances a runner along its log, so that queries need not wait until it is at the end."""

    def __init__(self, runner: Runner, events: Log, later_s: float = LATER_S) -> None:
        self._runner, self._events, self._later_s = runner, events, later_s
        self._turn = threading.Lock()  # only one thread at a time may use the runner
        self._missed = False  # a call came while the thread was projecting
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def position(self) -> int:
        """The position up to which everything is projected."""
        return self._runner.position

    def step(self) -> None:
        """Project the next span of the log; a thread projects the rest.

        Raises:
            ProjectionError: It failed; the tables are unchanged.
        """
        if not self._turn.acquire(blocking=False):
            self._missed = True
            return
        try:
            self._runner.advance(self._events, spans=1)
            arrived = self._runner.at_head
        finally:
            self._turn.release()
        under_way = self._thread is not None and self._thread.is_alive()
        if not (arrived or under_way or self._closing.is_set()):
            self._thread = threading.Thread(
                target=self._go_on, name="cortex-projections", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Project one more span and close the file; the next start does the rest."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        try:
            self.step()
        finally:
            self._runner.close()

    def _go_on(self) -> None:
        """Project span after span up to the head; each is committed, so a kill loses only one."""
        pause_s = self._later_s
        try:
            while not self._closing.wait(pause_s):
                self._missed = False
                began = steady_s()
                with self._turn:
                    self._runner.advance(self._events, spans=1)
                    arrived = self._runner.at_head
                if arrived and not self._missed:
                    return
                pause_s = steady_s() - began  # leaves half of the time to others
        except Exception as error:  # noqa: BLE001  # whoever asks next meets it too, and is told
            log.warning("projections_behind", error=str(error), position=self._runner.position)
