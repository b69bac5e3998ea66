"""Ending the hub of a home from outside, in good order or by force."""

import contextlib
import os
import select
import signal
import time

from cortex.runtime.kernel import Home

from .errors import HubSilentError, NotUpError
from .note import found, holder, remove, socket_path

LOOK_S = 0.05  # where the system cannot tell us of a process's end


def stop(home: Home, patience_s: float, *, kill: bool = False) -> int:
    """End the hub of *home* and wait until its process is gone; that process's id comes back.

    Args:
        home: Whose hub it is.
        patience_s: How long it may take, first in good order and, with *kill*, by force.
        kill: Kill it where it does not end by itself; what it acknowledged is kept.

    Raises:
        NotUpError: None is up.
        HubSilentError: It did not end in time, or its process cannot be told.
    """
    note = found(home)
    if note is None:
        raise NotUpError(str(home.path))
    if not note.pid:
        raise HubSilentError(str(home.path), None)
    process = _Process(note.pid)
    try:
        # The id may have gone to another process before we held on to it.
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
    """Another process, held on to so that its id means no other one meanwhile."""

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
            # Not `kill(pid, 0)`: it still finds one that has ended and is not yet waited for.
            ended, _, _ = select.select([self._descriptor], [], [], seconds)
            return bool(ended)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                os.kill(self._pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(LOOK_S)
        return False

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
