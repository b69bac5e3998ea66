"""A bell that one thread waits for beside a socket, and any thread rings."""

import contextlib
import os
import threading


class Bell:
    """A descriptor that is readable once it was rung."""

    def __init__(self) -> None:
        # Or a late ring could be written into a file that has got the descriptor since.
        self._lock = threading.Lock()
        if hasattr(os, "eventfd"):
            self.descriptor = self._ringing = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        else:
            self.descriptor, self._ringing = os.pipe()
            os.set_blocking(self.descriptor, False)
            os.set_blocking(self._ringing, False)

    def ring(self) -> None:
        """Make it readable; after `close` this does nothing."""
        with self._lock:
            if self._ringing >= 0:
                with contextlib.suppress(BlockingIOError):  # it is full: it rings already
                    os.write(self._ringing, _ONE)

    def hush(self) -> None:
        """Make it silent again."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 512)

    def close(self) -> None:
        """Let go of it."""
        with self._lock:
            descriptors = {self.descriptor, self._ringing}
            self.descriptor = self._ringing = -1
        for descriptor in descriptors - {-1}:
            os.close(descriptor)


_ONE = (1).to_bytes(8, "little")
