"""Stops the hub of a home from another process, by request or by force."""

import contextlib
import os
import select
import signal
import time

from cortex.bus import steady_s
from cortex.runtime.kernel import Home

from .errors import HubSilentError, NotUpError
from .note import found, holder, remove, socket_path

LOOK_S = 0.05  # if the system cannot report a process's end


def stop(home: Home, patience_s: float, *, kill: bool = False) -> int:
    """Stop the hub of *home* and wait until its process is gone; returns the process id.

    Args:
        home: The home of the hub.
        patience_s: How long to wait for a clean stop and then, with *kill*, for the kill.
        kill: Kill it if it does not end by itself; acknowledged events are kept.

    Raises:
        NotUpError: No hub is running.
        HubSilentError: It did not end in time, or its process is unknown.
    """
    note = found(home)
    if note is None:
        raise NotUpError(str(home.path))
    if not note.pid:
        raise HubSilentError(str(home.path), None)
    process = _Process(note.pid)
    try:
        # The id may belong to another process by now.
        if holder(socket_path(home)) != note.pid:
            raise NotUpError(str(home.path))
        process.tell(signal.SIGTERM)
        if process.gone_within(patience_s):
            return note.pid
        if not kill:
            raise HubSilentError(str(home.path), note.pid)
        process.tell(signal.SIGKILL)
        if not process.gone_within(patience_s):
            raise HubSilentError(str(home.path), note.pid)
    finally:
        process.close()
    remove(home)
    return note.pid


class _Process:
    """Another process, held by a pidfd, if there are any, so that its id is not reused."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._descriptor: int | None = None
        opened = getattr(os, "pidfd_open", None)
        if opened is not None:
            with contextlib.suppress(OSError):  # an old kernel, or the process is gone
                self._descriptor = opened(pid)

    def tell(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._descriptor is not None:
                signal.pidfd_send_signal(self._descriptor, number)
            else:
                os.kill(self._pid, number)

    def gone_within(self, seconds: float) -> bool:
        if self._descriptor is not None:
            # Not `kill(pid, 0)`: it also finds one that has ended and is not reaped yet.
            ended, _, _ = select.select([self._descriptor], [], [], seconds)
            return bool(ended)
        deadline = steady_s() + seconds
        while steady_s() < deadline:
            try:
                os.kill(self._pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(LOOK_S)
        return False

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
