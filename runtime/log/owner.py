"""One writer to a log: a lock that the kernel releases however its holder ends."""

import fcntl
import os
from pathlib import Path

from .errors import LogAccessError, LogHeldError, NotALogError
from .private import create_private


class OwnerLock:
    """An exclusive lock on ``<log>.lock``, which names its holder's process id.

    The file itself is there afterwards, if only as an empty one that its owner alone may read.

    Raises:
        LogHeldError: Another process, or another log object of this one, holds it.
        LogAccessError: The lock file, or the file itself, cannot be made.
        NotALogError: A folder stands in the file's place.
    """

    def __init__(self, log_path: Path) -> None:
        if log_path.is_dir():
            raise NotALogError(str(log_path), "it is a folder")
        path = log_path.with_name(log_path.name + ".lock")
        try:
            # Never inherited by a child program, or the child would hold the log after us.
            self._descriptor: int | None = os.open(
                path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise LogAccessError(str(path), error.strerror or str(error)) from error
        try:
            # Not on log.db itself: closing any descriptor of it would drop SQLite's own locks.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            pid = _holder(self._descriptor)
            self.release()
            raise LogHeldError(str(log_path), pid) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)
        try:
            create_private(log_path)
        except OSError as error:
            self.release()
            raise LogAccessError(str(log_path), error.strerror or str(error)) from error

    def release(self) -> None:
        """Let go; the file stays, so that nobody locks one that is being removed."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _holder(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0)
    return int(text) if text.isdigit() else None
