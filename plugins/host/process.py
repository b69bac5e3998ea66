"""One process of a plugin: how it is started, what it reports, how it ends and starts again.

The thread that started it must live until its end: bubblewrap's `--die-with-parent` means the
thread, not the process.
"""

import contextlib
import os
import selectors
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from cortex.bus import Backoff, steady_s
from cortex.bus.events import PluginLoad
from cortex.runtime.isolation import ChildLog, ChildProcess, PipeFrameError, ending
from cortex.runtime.kernel import Restarts
from cortex.runtime.log import private
from cortex.runtime.secrets import redacted, with_names

from ..checking import Description
from ..manifest import Limits
from .frames import FRAME_BYTES, HUNG, Go, PluginFrame, Spec, frame_in
from .sandbox import Walls, confined

QUIT_S = 5.0  # how long it may take to end in good order
PIECE = 1 << 16
CHILD = "cortex.plugins.host.child"
# What every program may expect; `-I` keeps Python from reading more of it.
ENVIRONMENT = {"HOME": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}  # noqa: S108  # none of the user's
FOLDER = "logs"  # in the home
READY_S = 60.0  # in which a started plugin has to be at work
HEARD_S = 600.0  # longer than any plugin may be silent
BACKOFF = Backoff(first_s=1.0, longest_s=60.0, forgiven_s=60.0)  # before a restart


class PluginProcess:
    """A running plugin in a process of its own.

    Args:
        spec: Sent to it at its start.
        walls: Its sandbox; None for no sandbox.
        secrets: Added to the usual environment of a program.
        output: Receives its output.
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
        """Its messages so far; waits up to *wait_s* for the first."""
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
        """End it with all its child processes; return how it ended."""
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
        until = steady_s() + wait_s
        while self._open:
            left_s = until - steady_s()
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


def output_of(path: Path, secrets: Mapping[str, str]) -> ChildLog:
    """The log of one plugin, at *path*."""
    return ChildLog(path, lambda line: redacted(with_names(line, secrets)), private)


def path_of(home: Path, plugin: str) -> Path:
    """The file with the output of *plugin*."""
    return home / FOLDER / f"{plugin}.log"


def lines_of(home: Path, plugin: str, most: int) -> Iterator[str]:
    """The last lines, *most* at most, of what *plugin* printed."""
    path = path_of(home, plugin)
    kept: list[str] = []
    for each in (path.with_name(path.name + ".1"), path):
        if each.exists():
            kept += each.read_text(encoding="utf-8", errors="replace").splitlines()
    yield from kept[max(0, len(kept) - most) :]


class Life:
    """What is known of one process so far."""

    def __init__(self, process: PluginProcess) -> None:
        self.process = process
        self.limits: Limits | None = None  # once it was admitted
        self.ready_ns = 0  # when it was; 0 before
        self.reason = ""  # why it has to end
        self.denied = False  # it lacks a grant without which it cannot start
        self.load: PluginLoad | None = None  # with which it takes the place of another one
        self.described: Description | None = None
        self.resting = False  # stopped, and able to continue
        self.returns = False  # it continues because its replacement failed
        self._heard = steady_s()

    def heard(self) -> None:
        """Count its silence from now on."""
        self._heard = steady_s()

    def tidings(self, most_s: float = HEARD_S) -> list[PluginFrame]:
        """Its next message, within *most_s*; a process that is silent for too long must end."""
        silent_s = self.limits.silent_s if self.limits and self.ready_ns else READY_S
        told = self.process.tidings(min(most_s, self._heard + silent_s - steady_s()))
        now = steady_s()
        if told:
            self._heard = now
        elif now - self._heard >= silent_s:
            what = "it hangs: it was not heard of" if self.ready_ns else "it did not get ready"
            self.reason = f"{what} for {silent_s:g} s"
        return told


def restarts(limits: Limits) -> Restarts:
    """How often a plugin with these limits is started again after a crash."""
    return Restarts(BACKOFF, limits.restarts, ready_ns=None)  # its `Life` counts its silence
