"""One writer to a log: a private lock file, which the kernel unlocks however its holder ends."""

import fcntl
import os
from pathlib import Path

from cortex.bus import steady_s

from .durable import create_private
from .errors import LogAccessError, LogHeldError, LogLostError, NotALogError

LOOK_S = 1.0  # between two checks that the lock file was not replaced
TRIES = 10  # to lock a file that others may remove


class OwnerLock:
    """An exclusive lock on ``<log>.lock``, which names its holder's process id.

    It also creates the log file, if it is missing, as an empty file that only its owner may read.

    Args:
        log_path: The log.
        held_for: A word for the holder, shown to processes that find the log held.

    Raises:
        LogHeldError: Another process, or another log object of this one, holds it.
        LogAccessError: The lock file, or the log file, cannot be created.
        NotALogError: A folder is in the file's place.
    """

    def __init__(self, log_path: Path, held_for: str = "") -> None:
        if log_path.is_dir():
            raise NotALogError(str(log_path), "it is a folder")
        self._log_path = log_path
        self._held_for = held_for
        self._path = log_path.with_name(log_path.name + ".lock")
        self._looked_s = 0.0
        for _ in range(TRIES):
            self._lock()
            if self._is_there():
                break
            self.release()  # another process removed it meanwhile: others would lock a new one
        else:
            raise LogLostError(str(log_path))
        try:
            create_private(log_path)
        except OSError as error:
            self.release()
            raise LogAccessError(str(log_path), error.strerror or str(error)) from error

    def check(self) -> None:
        """Check, from time to time, that other processes would find this lock file.

        Raises:
            LogLostError: The file was removed or replaced, so that another process may own the log.
        """
        now_s = steady_s()
        if now_s - self._looked_s < LOOK_S:
            return
        if not self._is_there():
            raise LogLostError(str(self._log_path))
        self._looked_s = now_s

    def _lock(self) -> None:
        try:
            # Never inherited by a child process, which could keep the lock after us.
            self._descriptor: int | None = os.open(
                self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise LogAccessError(str(self._path), error.strerror or str(error)) from error
        try:
            # Not on log.db itself: closing any descriptor of it would drop SQLite's own locks.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            pid, held_for = _holder(self._descriptor)
            self.release()
            raise LogHeldError(str(self._log_path), pid, held_for) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()} {self._held_for}".rstrip().encode(), 0)

    def _is_there(self) -> bool:
        """Whether the locked file is the one under its name."""
        if self._descriptor is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except OSError:
            return False

    def release(self) -> None:
        """Release the lock; the file stays, so that no process locks one that is being removed."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _holder(descriptor: int) -> tuple[int | None, str]:
    pid, _, held_for = os.pread(descriptor, 64, 0).decode(errors="replace").partition(" ")
    return (int(pid), held_for) if pid.isascii() and pid.isdigit() else (None, "")
