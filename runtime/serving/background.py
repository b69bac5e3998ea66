"""Starts a hub in the background, which continues after the command that started it."""

import contextlib
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from cortex.bus import steady_s
from cortex.runtime.isolation import start_python
from cortex.runtime.kernel import Home

from .errors import UpFailedError
from .note import Note, found

SAID = "up.log"  # in the home: the output of a hub in the background
LOOK_S = 0.05
SHOWN = 2_000  # bytes at its end that are searched for the reason
LEAST_FREE = 1 << 20  # bytes on the disk of a home; with less, nothing may fit
LONGEST = 1 << 20  # bytes of it that are kept for the next hub
COMPLAINT = "cortex: "  # prefix of the line in which a command reports why it ends


def start(home: Home, options: Sequence[str], patience_s: float) -> Note:
    """Start `cortex up` with *options* and wait until it listens; returns its note.

    Raises:
        UpFailedError: The hub ended, or does not listen after *patience_s*.
    """
    path = home.path / SAID
    descriptor, begin = _opened(path)
    try:
        child = start_python(
            *("-c", _HUB, "up", "--home", str(home.path), *options),
            secrets=os.environ,
            output=descriptor,
            folder=home.workspace,  # relative paths in config.toml start there
            own_session=True,
        )
    finally:
        os.close(descriptor)
    if child.stdin is not None:
        with contextlib.suppress(OSError):  # it ended, which is reported below
            child.stdin.close()
    deadline = steady_s() + patience_s
    while steady_s() < deadline:
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
    """The file, opened for appending, and its current size in bytes.

    Another hub may write it as well: a running one, or one that starts at the same time.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if os.fstat(descriptor).st_size > LONGEST:
        os.ftruncate(descriptor, 0)
    return descriptor, os.fstat(descriptor).st_size


def _said(path: Path, begin: int) -> str:
    """The last error line after *begin*; the last line if there is none."""
    try:
        lines = path.read_bytes()[begin:][-SHOWN:].decode(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    complaints = [line for line in lines if line.startswith(COMPLAINT)]
    for line in (complaints or lines)[-1:]:
        return line.removeprefix(COMPLAINT)
    free = shutil.disk_usage(path.parent).free
    if free < LEAST_FREE:  # its output did not fit either
        return f"its disk has {free >> 10:,} KiB left: free some space, then try again"
    return f"it printed nothing; see {path}"


_HUB = """
import sys
from cortex.runtime.isolation import enter_process
enter_process(sys.stdin.buffer)
from cortex.runtime.cli import main
sys.exit(main(sys.argv[1:]))
"""
