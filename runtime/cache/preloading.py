"""Loads what was used of late, beside the work: in a thread of its own, for a bounded time."""

import threading
import time
from collections.abc import Callable
from typing import Final

from .cache import Cache

LATER_S: Final = 1.0  # lets what has just begun finish first, which needs the GIL
BUDGET_S: Final = 2.0
JOIN_S: Final = 5.0  # a reader that hangs on its disk is left behind


class Beside:
    """Runs *work* once in a thread; the work asks now and then whether to go on."""

    def __init__(
        self,
        work: Callable[[Callable[[], bool]], object],
        name: str,
        *,
        later_s: float = LATER_S,
        budget_s: float = BUDGET_S,
    ) -> None:
        self._work, self._later_s, self._budget_s = work, later_s, budget_s
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._until_s = 0.0

    def start(self) -> None:
        """Begin in a moment."""
        self._thread.start()

    def end(self) -> None:
        """End soon, whether it is done or not."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(JOIN_S)

    def wait(self) -> None:
        """Return when it is done."""
        self._thread.join()

    def _run(self) -> None:
        if not self._ending.wait(self._later_s):
            self._until_s = time.monotonic() + self._budget_s
            self._work(self._goes_on)

    def _goes_on(self) -> bool:
        return not self._ending.is_set() and time.monotonic() < self._until_s


def preloading(cache: Cache) -> Beside:
    """What loads *cache*."""
    return Beside(cache.preload, "cortex-cache")
