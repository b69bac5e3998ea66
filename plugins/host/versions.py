"""Which version of a loaded plugin is to run: the present one, the next one, the one before.

The owner asks for another version on one thread, and the plugin's thread takes it up on another.
"""

import threading
from typing import NamedTuple

from cortex.bus.events import PluginLoad

from ..installed import Installed


class Version(NamedTuple):
    """A version of a plugin, as it was asked for and as it is installed."""

    load: PluginLoad
    plugin: Installed


class Versions:
    """The versions of one plugin; *first* is the present one."""

    def __init__(self, first: Version) -> None:
        self.present = first
        self._lock = threading.Lock()
        self._next: Version | None = None  # takes the place of the present one
        self._before: Version | None = None  # until its replacement works
        self._returning = False  # `_next` was running before
        self._over = False  # nothing reads `_next` any more

    @property
    def is_another_wanted(self) -> bool:
        """Whether the present one is to be replaced."""
        return self._next is not None

    def want(self, version: Version) -> bool:
        """Ask for another version; False if none is taken up any more."""
        with self._lock:
            if not self._over:
                self._next = version
            return not self._over

    def taken(self) -> Version | None:
        """The version that is wanted, which the caller takes over; None if there is none."""
        with self._lock:
            following, self._next = self._next, None
        return following

    def follow(self, *, last: bool = True) -> bool:
        """Make the version that is wanted the present one; if there is none, it was the *last*."""
        with self._lock:
            following, self._next = self._next, None
            self._over = last and following is None
        if following is None:
            return False
        self._before = None if self._returning else self.present
        self._returning = False
        self.present = following
        return True

    def give_up(self) -> bool:
        """Run the present one no more; whether another one is wanted instead."""
        with self._lock:
            self._over = self._next is None
        return not self._over

    def go_back(self) -> bool:
        """The present one never worked: want the one before it, if there was one."""
        before, self._before = self._before, None
        if before is None:
            return False
        with self._lock:
            self._returning = self._next is None
            self._next = self._next or before
        return True

    def works(self) -> None:
        """The present one works: there is no way back."""
        self._before = None
