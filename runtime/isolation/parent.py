"""The process that started this one, as a child of Cortex's own speaks with it."""

import os
import select
import signal
import sys
import threading
import time

import msgspec

from cortex.bus import steady_s

from .framing import FrameReader, frame_of
from .process import enter_process

STDIN = 0
LEAVE_S = 10.0  # for a child to come to its end, once its parent has let go of it
LOOK_S = 0.2  # meanwhile, between two looks whether the parent is still there


class Parent:
    """The other end of the pipes to `ChildProcess`."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)  # what this process starts has no part in it
        # Not `sys.stdin`, whose lock Python wants when the process ends by itself.
        self._frames, self._descriptor = FrameReader(STDIN), descriptor

    def receive(self) -> bytes | None:
        """The next frame, which is waited for; None once the parent has let go, or is gone."""
        return self._frames.receive()

    def send(self, content: msgspec.Struct) -> None:
        """Send a frame.

        Raises:
            BrokenPipeError: The parent is gone.
        """
        rest = memoryview(frame_of(content))
        while rest:  # a signal may end a write early
            rest = rest[os.write(self._descriptor, rest) :]


def enter_child(*, outlives: bool = False) -> Parent:
    """Begin a child of Cortex's own, which ends with its parent, however busy it is.

    Args:
        outlives: Whether it has the time for a good end even where its parent was killed.
    """
    with open(STDIN, "rb", buffering=0, closefd=False) as source:  # frames come after that
        enter_process(source)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all: the parent ends its own
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # or what it starts were deaf, too
    threading.Thread(target=_end_with, args=(os.getppid(), outlives), daemon=True).start()
    return Parent(int(sys.argv[1]))


def _end_with(parent: int, outlives: bool) -> None:  # of a thread
    hangup = select.poll()
    hangup.register(STDIN, 0)
    hangup.poll()  # until its other end is closed
    until = steady_s() + LEAVE_S
    while steady_s() < until and (outlives or os.getppid() == parent):
        time.sleep(LOOK_S)
    os._exit(1)
