"""Reads the output of a running program: keeps the end, drops the rest."""

import contextlib
import os
import selectors
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence

from cortex.bus import steady_s

from .in_use import using_around

KEPT_BYTES = 1 << 20  # of standard output and of standard error, the last of each
READ_BYTES = 1 << 16  # at once: what a pipe holds
LONGEST_WAIT_S = 3_600.0  # at once: the system does not take any number
ASK_S = 0.5  # between two questions whether a program is still wanted


class Tail:
    """The last bytes of a stream, in memory that does not grow with it."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, data: bytes) -> None:
        """Take what was said next."""
        self._kept += data
        if len(self._kept) > 2 * KEPT_BYTES:
            del self._kept[:-KEPT_BYTES]

    def end(self) -> bytes:
        """Give the last KEPT_BYTES."""
        return bytes(self._kept[-KEPT_BYTES:])


def start(
    argv: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    *,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a program with its output in pipes, in a process group of its own.

    Args:
        argv: Its words.
        folder: Where it runs.
        environment: The variables that it gets.
        stdin: What it reads, as `subprocess.Popen` has it.

    Raises:
        OSError: It cannot be started.
        ValueError: A word holds a zero byte.
    """
    with using_around(folder) as inherited:
        return subprocess.Popen(
            list(argv),
            cwd=folder or None,
            env=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # so that it can be ended with all it started
            pass_fds=inherited,
        )


def listen(
    process: subprocess.Popen[bytes], timeout_s: float, wanted: Callable[[], bool] | None = None
) -> tuple[bytes, bytes] | None:
    """Read the output of *process* until it ends; None if it did not end in time or while *wanted*.

    Its background processes are not waited for.
    """
    woken, wake = os.pipe()
    waiting = threading.Thread(target=_tell_end, args=(process, wake), daemon=True)
    waiting.start()
    try:
        return _read(process, woken, steady_s() + timeout_s, wanted)
    finally:
        os.close(woken)


def _tell_end(process: subprocess.Popen[bytes], wake: int) -> None:
    process.wait()
    os.close(wake)


def _read(
    process: subprocess.Popen[bytes],
    woken: int,
    until: float,
    wanted: Callable[[], bool] | None,
) -> tuple[bytes, bytes] | None:
    asked = steady_s()
    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe]
    tails = {pipe.fileno(): Tail() for pipe in pipes}
    with contextlib.ExitStack() as open_, selectors.DefaultSelector() as ready:
        for pipe in pipes:
            open_.enter_context(pipe)
        for fd in (woken, *tails):
            ready.register(fd, selectors.EVENT_READ)
        while woken in ready.get_map():
            left = until - steady_s()
            if left <= 0:
                return None
            if wanted is not None and steady_s() - asked >= ASK_S:
                if not wanted():
                    return None
                asked = steady_s()
            _take(ready, tails, min(left, ASK_S if wanted else LONGEST_WAIT_S))
        # Ended: read what is in the pipes, not later output of background processes.
        for _ in range(KEPT_BYTES // READ_BYTES):
            if not ready.get_map() or not _take(ready, tails, 0):
                break
    out, err = (tail.end() for tail in tails.values())
    return out, err


def _take(ready: selectors.BaseSelector, tails: dict[int, Tail], wait_s: float) -> bool:
    """Read once from all that have something; False where none had."""
    found = ready.select(wait_s)
    for key, _ in found:
        data = os.read(key.fd, READ_BYTES)
        if data:
            tails[key.fd].add(data)
        else:
            ready.unregister(key.fd)
    return bool(found)
