"""One process of a plugin: how it is started, what it reports, and how it is ended.

The thread that started it must live until its end: bubblewrap's `--die-with-parent` means the
thread, not the process.
"""

import contextlib
import os
import selectors
import time
from collections.abc import Callable, Mapping

from cortex.runtime.isolation import ChildProcess, PipeFrameError, ending

from .frames import FRAME_BYTES, HUNG, Go, PluginFrame, Spec, frame_in
from .sandbox import Walls, confined

QUIT_S = 5.0  # how long it may take to end in good order
PIECE = 1 << 16
CHILD = "cortex.plugins.hosting.child"
# What every program may expect; `-I` keeps Python from reading more of it.
ENVIRONMENT = {"HOME": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}  # noqa: S108  # none of the user's


class PluginProcess:
    """A plugin at work in a process of its own.

    Args:
        spec: What it is told.
        walls: What it is confined to; None for nothing.
        secrets: Its environment, beside what every program expects.
        output: Gets what it prints.
    """

    def __init__(
        self,
        spec: Spec,
        walls: Walls | None,
        secrets: Mapping[str, str],
        output: Callable[[bytes], None],
    ) -> None:
        self._output = output
        self._woken, self._waker = os.pipe()
        self._printed, printing = os.pipe()
        try:
            self._child = ChildProcess(
                CHILD,
                secrets,
                flags=("-B", "-u", "-X", "utf8"),
                limit_bytes=FRAME_BYTES,
                environment=ENVIRONMENT,
                output=printing,
                folder="/",
                own_session=True,  # so that what it starts can be ended with it
                confined=list if walls is None else lambda command: confined(command, walls),
            )
        except BaseException:
            self._close(self._printed, self._woken, self._waker)
            raise
        finally:
            self._close(printing)
        self._selector = selectors.DefaultSelector()
        self._open = {self._child.descriptor, self._printed}
        for descriptor in (*self._open, self._woken):
            self._selector.register(descriptor, selectors.EVENT_READ)
        self.give(spec)

    @property
    def ended(self) -> bool:
        """Whether nothing more comes from it."""
        return self._child.descriptor not in self._open

    def give(self, frame: Spec | Go) -> None:
        """Tell it something."""
        with contextlib.suppress(OSError):  # it has ended already, as shows when it is read
            self._child.send(frame)

    def wake(self) -> None:
        """Make `tidings` return; from any thread, until `end` was called."""
        with contextlib.suppress(OSError):
            os.write(self._waker, b"!")

    def tidings(self, wait_s: float) -> list[PluginFrame]:
        """What it has told; waits up to *wait_s* where that is nothing yet."""
        told: list[PluginFrame] = []
        for key, _ in self._selector.select(max(0.0, wait_s)):
            if key.fd == self._child.descriptor:
                told += self._told()
            elif data := os.read(key.fd, PIECE):
                if key.fd == self._printed:
                    self._output(data)
            else:
                self._over(key.fd)
        return told

    def _told(self) -> list[PluginFrame]:
        try:
            told = [frame_in(data) for data in self._child.frames.arrived()]
        except PipeFrameError as error:
            self._over(self._child.descriptor)
            return [PluginFrame(failed=f"it sent too much: {error}")]
        if self._child.frames.ended:
            self._over(self._child.descriptor)
        return told

    def _over(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        self._open.discard(descriptor)

    def end(self, *, kill: bool = False) -> int:
        """End it, with everything that it started; what comes back is how it ended."""
        self._child.let_go()
        if not kill:
            self._drain(QUIT_S)
        self._child.kill()
        self._drain(0.0)
        self._selector.close()
        code = self._child.end()
        self._close(self._printed, self._woken, self._waker)
        return code

    def _drain(self, wait_s: float) -> None:
        """Take what it still prints, until it has ended."""
        until = time.monotonic() + wait_s
        while self._open:
            left_s = until - time.monotonic()
            if not self._selector.select(max(0.0, left_s)):
                return
            before = len(self._open)
            self.tidings(0.0)
            if left_s <= 0 and len(self._open) == before:
                return

    @staticmethod
    def _close(*descriptors: int) -> None:
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def how_it_ended(code: int) -> str:
    """The exit code of a plugin's process in words."""
    return "one of its handlers hangs" if code == HUNG else ending(code)
