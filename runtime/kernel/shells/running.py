"""What a supervisor starts and keeps running, and how it watches that."""

import contextlib
from collections.abc import Callable
from typing import Protocol

import msgspec
import pykka

from cortex.bus import lasting

from .shell import Shell, Stop
from .supervision import SHELLS, Restarts, Watched


class Running(Protocol):
    """What a supervisor has started: it reports by its `Hooks` what becomes of it."""

    def end(self) -> None:
        """Ask it to end soon; returns at once."""
        ...

    def ended_within(self, wait_s: float) -> bool:
        """Wait until it has ended; whether it has, within *wait_s*."""
        ...

    def abandon(self) -> None:
        """Let it be without effect from now on: another one takes its place."""
        ...


class RunningShell(msgspec.Struct, frozen=True):
    """A running shell, with functions to abandon it and to end it soon."""

    ref: pykka.ActorRef[Shell]
    abandon: Callable[[], None]
    hurry: Callable[[], None]  # called before its `Stop`: skip long work

    def __str__(self) -> str:
        return str(self.ref)

    def end(self) -> None:
        """Ask it to end after the event that is being handled."""
        self.hurry()
        with contextlib.suppress(pykka.ActorDeadError):
            self.ref.tell(Stop())

    def ended_within(self, wait_s: float) -> bool:
        """Wait until its thread has ended; whether it has, within *wait_s*."""
        return self.ref.actor_stopped.wait(lasting(wait_s))


class Watching(msgspec.Struct, frozen=True):
    """How one shell is watched, beside how it is started."""

    # Whether the running one hangs, at this time.
    overdue: Callable[[int], bool] = lambda _: False
    # Called on the shell's thread if it ended because there was no work; it is watched no longer.
    rested: Callable[[], None] = lambda: None
    # Called after each failure, with what was decided; on the supervisor's thread.
    failed: Callable[[Watched], None] = lambda _: None
    restarts: Callable[[], Restarts] = lambda: SHELLS
