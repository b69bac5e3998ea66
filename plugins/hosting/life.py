"""One process of a plugin, as its supervisor knows it."""

import time

from cortex.bus.events import PluginLoad

from ..checking import Description
from ..manifest import Limits
from .frames import PluginLine
from .process import PluginProcess

READY_S = 60.0  # in which a started plugin has to be at work
HEARD_S = 600.0  # longer than any plugin may be silent


class Life:
    """What is known of one process so far."""

    def __init__(self, process: PluginProcess) -> None:
        self.process = process
        self.limits: Limits | None = None  # once it was let in
        self.ready = 0.0  # when it was; 0 before
        self.reason = ""  # why it has to end
        self.denied = False  # it lacks a grant without which it cannot start
        self.load: PluginLoad | None = None  # with which it takes the place of another one
        self.described: Description | None = None
        self.resting = False  # nothing of it runs, and it can go on
        self.returns = False  # it goes on since what was to take its place did not stand
        self._heard = time.monotonic()

    def heard(self) -> None:
        """Count its silence from now on."""
        self._heard = time.monotonic()

    def tidings(self, most_s: float = HEARD_S) -> list[PluginLine]:
        """What it tells next, within *most_s*; one that is silent for too long has to end."""
        silent_s = self.limits.silent_s if self.limits and self.ready else READY_S
        told = self.process.tidings(min(most_s, self._heard + silent_s - time.monotonic()))
        now = time.monotonic()
        if told:
            self._heard = now
        elif now - self._heard >= silent_s:
            what = "it hangs: it was not heard of" if self.ready else "it did not get ready"
            self.reason = f"{what} for {silent_s:g} s"
        return told
