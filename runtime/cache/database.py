"""The connection to cache.db: whatever happens to the file, the work that asked goes on.

A damaged file, or one of another version, is removed and made again; one that was deleted or
replaced under this process is opened again; a full disk, a lock, or a folder that cannot be written
makes the tier miss. Each is logged once.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from cortex.bus import Logger

from .schema import connect, is_damage, remove

AGAIN_S: Final = 60.0  # after which a file that could not be opened is tried again
LOOK_S: Final = 1.0  # how often the file is looked at, whether it is still the same
MENDED: Final = 3  # times that this process makes the file again; then it does without

R = TypeVar("R")
logger = Logger("cortex.cache")


class Database:
    """One connection, opened at first use; threads may share it."""

    def __init__(
        self, path: Path, owner: bytes = b"", steady_s: Callable[[], float] = time.monotonic
    ) -> None:
        self.path, self._owner, self._steady_s = path, owner, steady_s
        self.failures = 0  # pieces of work that were not done
        self.opened = 0  # times: whoever remembers something of the file begins anew with each
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._look_at_s = 0.0  # when to look at the file again
        self._try_at_s = 0.0  # when to try to open it again
        self._mended = 0
        self._logged: set[str] = set()

    def run(self, work: Callable[[sqlite3.Connection], R], otherwise: R) -> R:
        """The result of *work* in one transaction or none; *otherwise* if the file is of no use."""
        with self._lock:
            try:
                return self._run(work, otherwise)
            except OSError as error:
                return self._failed("cache_without_disk", error, otherwise)

    @property
    def is_there(self) -> bool:
        """Whether there is a file: what looks after it does not make it."""
        return self.path.exists()

    def close(self) -> None:
        """Close the connection; the next work opens it again."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _run(self, work: Callable[[sqlite3.Connection], R], otherwise: R) -> R:
        if self._try_at_s and self._steady_s() < self._try_at_s:
            return otherwise
        while True:
            try:
                return work(self._open())
            except sqlite3.Error as error:
                self._roll_back()
                if self._connection is None:
                    self._try_at_s = self._steady_s() + AGAIN_S
                if not is_damage(error):
                    event = "cache_not_used" if self._connection else "cache_without_disk"
                    return self._failed(event, error, otherwise)
                if self._mended == MENDED:
                    return self._failed("cache_without_disk", error, otherwise)
                self._mend(error)

    def _open(self) -> sqlite3.Connection:
        now_s = self._steady_s()
        if self._connection is not None and now_s >= self._look_at_s:
            self._look_at_s = now_s + LOOK_S
            if _inode_of(self.path) != self._inode:
                self.close()
        if self._connection is None:
            self._connection = connect(self.path, self._owner)
            self._inode = _inode_of(self.path)
            self._look_at_s, self._try_at_s = now_s + LOOK_S, 0.0
            self.opened += 1
        return self._connection

    def _mend(self, error: sqlite3.Error) -> None:
        """Remove the file: everything in it can be made again."""
        self._mended += 1
        self._try_at_s = 0.0
        self.close()
        remove(self.path)
        logger.warning("cache_made_again", path=str(self.path), error=str(error))

    def _failed(self, event: str, error: Exception, otherwise: R) -> R:
        self.failures += 1
        if self._connection is None:
            self._try_at_s = self._steady_s() + AGAIN_S
        if event not in self._logged:
            self._logged.add(event)
            logger.warning(event, path=str(self.path), error=str(error))
        return otherwise

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("rollback")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """One transaction that writes; whoever runs the work rolls back what fails."""
    connection.execute("begin immediate")
    yield
    connection.execute("commit")


def _inode_of(path: Path) -> int:
    try:
        return os.stat(path).st_ino  # noqa: PTH116  # a Path takes three times as long
    except OSError:
        return 0
