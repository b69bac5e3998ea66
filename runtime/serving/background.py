"""A hub in a process of its own, which goes on when the command that started it has ended."""

import contextlib
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from cortex.runtime.isolation import start_python
from cortex.runtime.kernel import Home

from .errors import UpFailedError
from .note import Note, found

SAID = "up.log"  # in the home: what a hub in the background writes
LOOK_S = 0.05
SHOWN = 2_000  # bytes of it that may hold the reason
LEAST_FREE = 1 << 20  # bytes on the disk of a home; with less, nothing may have room
LONGEST = 1 << 20  # bytes of it that are kept for the next hub
COMPLAINT = "cortex: "  # before the one line in which a command says why it ends


def start(home: Home, options: Sequence[str], patience_s: float) -> Note:
    """Start `cortex up` with *options* and wait until it listens; its note comes back.

    Raises:
        UpFailedError: It ended, or does not listen after *patience_s*.
    """
    path = home.path / SAID
    descriptor, begin = _opened(path)
    try:
        child = start_python(
            *("-c", _HUB, "up", "--home", str(home.path), *options),
            secrets=os.environ,
            output=descriptor,
            folder=home.workspace,  # what config.toml names by relative paths is found from there
            own_session=True,
        )
    finally:
        os.close(descriptor)
    if child.stdin is not None:
        with contextlib.suppress(OSError):  # it ended: that shows below
            child.stdin.close()
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        note = found(home)
        if note is not None and note.pid in (child.pid, 0):
            return note
        if child.poll() is not None:
            raise UpFailedError(str(home.path), _said(path, begin))
        time.sleep(LOOK_S)
    raise UpFailedError(
        str(home.path), f"it does not listen after {patience_s:g} s; see {path}, or try again"
    )


def _opened(path: Path) -> tuple[int, int]:
    """The file for writing behind what is there, and where that ends (bytes).

    Another hub may write it: one that is up, or that begins at the same moment.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if os.fstat(descriptor).st_size > LONGEST:
        os.ftruncate(descriptor, 0)
    return descriptor, os.fstat(descriptor).st_size


def _said(path: Path, begin: int) -> str:
    """The last complaint behind *begin*; the last line where nobody complained."""
    try:
        lines = path.read_bytes()[begin:][-SHOWN:].decode(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    complaints = [line for line in lines if line.startswith(COMPLAINT)]
    for line in (complaints or lines)[-1:]:
        return line.removeprefix(COMPLAINT)
    free = shutil.disk_usage(path.parent).free
    if free < LEAST_FREE:  # what it said had no room either
        return f"its disk has {free >> 10:,} KiB left: free some space, then try again"
    return f"it printed nothing; see {path}"


_HUB = """
import sys
from cortex.runtime.isolation import enter_process
enter_process(sys.stdin.buffer)
from cortex.runtime.cli import main
sys.exit(main(sys.argv[1:]))
"""
