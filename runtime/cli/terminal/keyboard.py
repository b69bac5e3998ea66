"""Reads lines of the keyboard, and signals, where a command waits.

Python raises Ctrl-C between any two instructions. In the middle of a write it would leave behind a
half-done transaction, and just before a blocking read it would be seen only after that read. So
this module notes it, and raises it only in `check` and while it waits for a line: there a signal
writes to a descriptor of its own, which is polled beside the keyboard.
"""

import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from cortex.runtime.sessions import Terminated

CHUNK_BYTES = 65_536
HEARD = (signal.SIGINT, signal.SIGTERM)
LOOK_S = 0.2


class Interrupts:
    """Ctrl-C and SIGTERM, from when the block is entered; one that was never heard is dropped.

    A second one that comes before the first is heard acts at once, so that nothing which hangs can
    keep a command from being ended.
    """

    def __init__(self) -> None:
        self._pressed: int | None = None
        self._before: dict[int, Any] = {}
        self._reader, self._writer = socket.socketpair()

    def __enter__(self) -> Self:
        # Signals are the main thread's; elsewhere nothing is interrupted.
        if threading.current_thread() is threading.main_thread():
            for each in HEARD:
                if signal.getsignal(each) is not signal.SIG_IGN:  # as in the background of a shell
                    self._before[each] = signal.signal(each, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()
        self._reader.close()
        self._writer.close()

    def check(self) -> None:
        """Return at once unless one came.

        Raises:
            KeyboardInterrupt: Ctrl-C came since the last look.
            Terminated: SIGTERM did.
        """
        pressed, self._pressed = self._pressed, None
        if pressed is not None:
            raise _order(pressed)

    def wait_for(self, descriptor: int) -> None:
        """Return once *descriptor* can be read.

        Raises:
            KeyboardInterrupt: Ctrl-C came before.
            Terminated: SIGTERM did.
        """
        if not self._before:
            select.select([descriptor], [], [])
            return
        for end in (self._reader, self._writer):
            end.setblocking(False)
        before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        try:
            while True:
                self.check()
                ready, _, _ = select.select([descriptor, self._reader.fileno()], [], [])
                if self._reader.fileno() in ready:
                    self._reader.recv(CHUNK_BYTES)
                elif ready:
                    return
        finally:
            signal.set_wakeup_fd(before)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self._pressed is not None:
            self._pressed = None
            raise _order(number)
        self._pressed = number


class Keyboard:
    """Standard input, line by line."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self._come = b""  # what was read beyond the last line

    def line(self) -> str:
        """The next line with its newline; the last one has none, and may be empty.

        Raises:
            KeyboardInterrupt: Ctrl-C came first; what was typed of the line is dropped.
            Terminated: SIGTERM came first.
        """
        with _own_descriptor() as descriptor:
            while b"\n" not in self._come:
                self._interrupts.wait_for(descriptor)
                try:
                    chunk = _read(descriptor)
                except BlockingIOError:  # Ctrl-C has taken back what was typed
                    continue
                self._come += chunk
                if not chunk:
                    break
        line, ended, self._come = self._come.partition(b"\n")
        return (line + ended).decode(errors="replace")


@contextmanager
def told_to_end() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set while the block is entered.

    After the first, what they did before holds again: the second does not wait for good order.
    """
    told = threading.Event()

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def end(*_: object) -> None:
        told.set()
        put_back()

    before = {number: signal.signal(number, end) for number in HEARD}
    try:
        yield told
    finally:
        put_back()


def wait_for(told: threading.Event, check: Callable[[], None] = lambda: None) -> None:
    """Wait until *told* is set, on the main thread; *check* raises what ends it otherwise."""
    # A signal that the system hands to another thread does not end a wait without a time, and its
    # handler would run when the next one comes.
    while not told.wait(LOOK_S):
        check()


def _order(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else Terminated()


@contextmanager
def _own_descriptor() -> Iterator[int]:
    """Standard input; for a terminal a separate descriptor, whose reads never block.

    A terminal drops what was typed when Ctrl-C comes. If that happens between
    poll() and the read, a blocking read would wait, and the Ctrl-C would be lost.
    """
    standard = sys.stdin.fileno()
    try:
        own = os.open(os.ttyname(standard), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:  # it is no terminal: what was written stays there
        yield standard
        return
    try:
        yield own
    finally:
        os.close(own)


def _read(descriptor: int) -> bytes:
    """What can be read; empty at the end.

    Raises:
        BlockingIOError: There is nothing yet.
    """
    try:
        return os.read(descriptor, CHUNK_BYTES)
    except BlockingIOError:
        raise
    except OSError:  # Linux reports a closed terminal so
        return b""
