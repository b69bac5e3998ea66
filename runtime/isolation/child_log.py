"""What a child writes for people: kept in a file of bounded size, at a bounded pace."""

import contextlib
import datetime
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

FILE_BYTES = 1 << 20  # then it becomes NAME.log.1, and what that held is gone
LINE_BYTES = 4_096
READ_BYTES = 1 << 14  # at once
PACE_BYTES = 1 << 20  # a second; a child that writes more waits
PACE_LINES = 5_000  # a second, likewise


class ChildLog:
    """The log of one child; lines come in as bytes, in any pieces.

    Args:
        path: The file; its folder is made.
        cleaned: Takes out of a line what is not to be kept, such as secrets.
        opener: Makes a file that its owner alone may read.
    """

    def __init__(
        self, path: Path, cleaned: Callable[[str], str], opener: Callable[[str, int], int]
    ) -> None:
        self._path, self._cleaned, self._opener = path, cleaned, opener
        self._rest = b""

    def take(self, data: bytes) -> None:
        """Keep what was written, whole lines at a time."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_BYTES:
            lines, self._rest = [*lines, self._rest], b""
        self._write(lines)

    def finish(self) -> None:
        """Keep what is left of a line that was not ended."""
        lines, self._rest = [self._rest] if self._rest else [], b""
        self._write(lines)

    def say(self, line: str) -> None:
        """Add a line of Cortex's own."""
        self._write([f"-- {line}".encode()])

    def _write(self, lines: list[bytes]) -> None:
        if not lines:
            return
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size > FILE_BYTES:
            self._path.replace(self._path.with_name(self._path.name + ".1"))
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        with open(self._path, "ab", opener=self._opener) as file:
            for line in lines:
                text = self._cleaned(line[: 2 * LINE_BYTES].decode(errors="replace"))
                file.write(f"{now} {text.encode()[:LINE_BYTES].decode(errors='ignore')}\n".encode())


def keep(log: ChildLog) -> int:
    """A descriptor for a child's standard error, whose end is kept in *log* by a thread.

    The caller closes it once the child has it; the thread ends with the last who holds it.
    """
    ours, theirs = os.pipe()
    threading.Thread(target=_read, args=(ours, log), name="cortex-log", daemon=True).start()
    return theirs


def _read(descriptor: int, log: ChildLog) -> None:
    with contextlib.closing(os.fdopen(descriptor, "rb", buffering=0)) as pipe:
        while data := pipe.read(READ_BYTES):
            with contextlib.suppress(OSError):  # a full disk is no reason to stop the child
                log.take(data)
            time.sleep(max(len(data) / PACE_BYTES, data.count(b"\n") / PACE_LINES))
        with contextlib.suppress(OSError):
            log.finish()
