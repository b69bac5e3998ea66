"""One process of a plugin: how it is started, what it reports, and how it is ended.

The thread that started it must live until its end: bubblewrap's `--die-with-parent` means the
thread, not the process.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from cortex.runtime.isolation import given, interpreter

from .frames import HUNG, LINE_BYTES, Go, PluginLine, Spec, line_of, told_in
from .sandbox import Walls, confined

QUIT_S = 5.0  # how long it may take to end in good order
PIECE = 1 << 16
CHILD = "from cortex.plugins.hosting.child import main; main()"
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
        self._rest = b""
        self._woken, self._waker = os.pipe()
        told, telling = os.pipe()
        printed, printing = os.pipe()
        self._told, self._printed = told, printed
        command = interpreter("-B", "-u", "-X", "utf8", "-c", CHILD, str(telling))
        try:
            self._process = subprocess.Popen(
                command if walls is None else confined(command, walls),
                stdin=subprocess.PIPE,
                stdout=printing,
                stderr=printing,
                pass_fds=(telling,),
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,  # so that what it starts can be ended with it
            )
        except BaseException:
            self._close((told, printed, self._woken, self._waker))
            raise
        finally:
            self._close((telling, printing))
        self._selector = selectors.DefaultSelector()
        for descriptor in (told, printed, self._woken):
            self._selector.register(descriptor, selectors.EVENT_READ)
        self._open = {told, printed}
        self._write(given(secrets))  # by the pipe: whoever may, reads the environment of a process
        self.give(spec)

    @property
    def ended(self) -> bool:
        """Whether nothing more comes from it."""
        return self._told not in self._open

    def give(self, frame: Spec | Go) -> None:
        """Tell it something."""
        self._write(line_of(frame))

    def _write(self, data: bytes) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it has ended already, as shows when it is read
                self._process.stdin.write(data)
                self._process.stdin.flush()

    def wake(self) -> None:
        """Make `tidings` return; from any thread, until `end` was called."""
        with contextlib.suppress(OSError):
            os.write(self._waker, b"!")

    def tidings(self, wait_s: float) -> list[PluginLine]:
        """What it has told; waits up to *wait_s* where that is nothing yet."""
        told: list[PluginLine] = []
        for key, _ in self._selector.select(max(0.0, wait_s)):
            data = os.read(key.fd, PIECE)
            if key.fd == self._woken:
                continue
            if not data:
                self._selector.unregister(key.fd)
                self._open.discard(key.fd)
            elif key.fd == self._printed:
                self._output(data)
            else:
                told += self._lines(data)
        return told

    def end(self, *, kill: bool = False) -> int:
        """End it, with everything that it started; what comes back is how it ended."""
        stdin = self._process.stdin
        if stdin is not None:
            with contextlib.suppress(OSError):
                stdin.close()
        if not kill:
            self._drain(QUIT_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # its children, too
        code = self._process.wait()
        self._drain(0.0)
        self._selector.close()
        self._close((self._told, self._printed, self._woken, self._waker))
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

    def _lines(self, data: bytes) -> Iterator[PluginLine]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_BYTES:
            self._rest = b""
            yield PluginLine(failed="it sent a line without an end")
        yield from map(told_in, lines)

    @staticmethod
    def _close(descriptors: Sequence[int]) -> None:
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def how_it_ended(code: int) -> str:
    """The exit code of a process in words."""
    if code == HUNG:
        return "one of its handlers hangs"
    if code < 0:
        return f"it was ended by {signal.Signals(-code).name}"
    if code > 128 and code - 128 in set(signal.Signals):  # as bubblewrap says it
        return f"it was ended by {signal.Signals(code - 128).name}"
    return f"it ended by itself, with exit code {code}"
