"""Keeps projections at the head of the log: short ways at once, long ones beside whoever asks."""

import threading
import time

from cortex.bus import Log, Logger
from cortex.runtime.projections import Runner

LATER_S = 1.0  # whoever has just started something waits for that first, and needs the GIL

log = Logger("cortex.actors")


class Following:
    """Moves a runner along its log; questions need not wait for a long way to its end."""

    def __init__(self, runner: Runner, events: Log, later_s: float = LATER_S) -> None:
        self._runner, self._events, self._later_s = runner, events, later_s
        self._turn = threading.Lock()  # one thread at a time may use the runner
        self._missed = False  # somebody came while the way was being made
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def position(self) -> int:
        """Everything up to here is projected."""
        return self._runner.position

    def step(self) -> None:
        """Project the next span of the log; what is left then is projected beside the caller.

        Raises:
            ProjectionError: It cannot be done; the tables are as they were.
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
        """Project one more span and let the file go; the rest is for the next start."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        try:
            self.step()
        finally:
            self._runner.close()

    def _go_on(self) -> None:
        """Project span after span up to the head; each is kept, so a kill costs only one."""
        pause_s = self._later_s
        try:
            while not self._closing.wait(pause_s):
                self._missed = False
                began = time.monotonic()
                with self._turn:
                    self._runner.advance(self._events, spans=1)
                    arrived = self._runner.at_head
                if arrived and not self._missed:
                    return
                pause_s = time.monotonic() - began  # whoever works has half of the time
        except Exception as error:  # noqa: BLE001  # whoever asks next meets it too, and is told
            log.warning("projections_behind", error=str(error), position=self._runner.position)
