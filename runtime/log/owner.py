"""One writer to a log: a private file whose lock the kernel releases however its holder ends."""

import contextlib
import fcntl
import os
import time
from pathlib import Path

from .errors import LogAccessError, LogHeldError, LogLostError, NotALogError

LOOK_S = 1.0  # between two looks whether the lock file is still the one that is locked
TRIES = 10  # of locking a file that others remove
PRIVATE = 0o600


class OwnerLock:
    """An exclusive lock on ``<log>.lock``, which names its holder's process id.

    The file itself is there afterwards, if only as an empty one that its owner alone may read.

    Args:
        log_path: The log.
        held_for: What the holder is, in a word, for whoever finds the log held.

    Raises:
        LogHeldError: Another process, or another log object of this one, holds it.
        LogAccessError: The lock file, or the file itself, cannot be made.
        NotALogError: A folder stands in the file's place.
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
            self.release()  # somebody removed it meanwhile: others would lock the next one
        else:
            raise LogLostError(str(log_path))
        try:
            create_private(log_path)
        except OSError as error:
            self.release()
            raise LogAccessError(str(log_path), error.strerror or str(error)) from error

    def check(self) -> None:
        """Look, now and then, whether this is still the lock that others find.

        Raises:
            LogLostError: The file was removed or replaced, so that another process may own the log.
        """
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_S:
            return
        if not self._is_there():
            raise LogLostError(str(self._log_path))
        self._looked_s = now_s

    def _lock(self) -> None:
        try:
            # Never inherited by a child program, or the child would hold the log after us.
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
        """Whether the file that is locked is the one that stands under its name."""
        if self._descriptor is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except OSError:
            return False

    def release(self) -> None:
        """Let go; the file stays, so that nobody locks one that is being removed."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _holder(descriptor: int) -> tuple[int | None, str]:
    pid, _, held_for = os.pread(descriptor, 64, 0).decode(errors="replace").partition(" ")
    return (int(pid), held_for) if pid.isascii() and pid.isdigit() else (None, "")


def private(path: str, flags: int) -> int:
    """An opener for `open` that makes files which their owner alone may read and write."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, PRIVATE)
    try:
        os.fchmod(descriptor, PRIVATE)  # a umask takes from the mode, from the owner's part too
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def create_private(path: Path) -> None:
    """Make an empty file that its owner alone may read; one that is there stays as it is.

    For a database, before SQLite makes one that everybody may read: its ``-wal`` and ``-shm`` take
    the mode of the file.

    Raises:
        OSError: It cannot be made.
    """
    # One that is there is not opened: closing it would drop the locks that SQLite has on it.
    with contextlib.suppress(FileExistsError), open(path, "xb", opener=private):
        pass
