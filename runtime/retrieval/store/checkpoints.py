"""Bring what was committed into the database file while more is written: SQLite's checkpoints."""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What is not yet in the file by then, the writer brings there itself, and waits for the disk.
WAITING_PAGES = 64_000


class Checkpoints:
    """A thread that checkpoints whenever it is told, so that the writer does not wait for syncs.

    A commit is as safe as before: one is in the write-ahead log before it is in the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told = threading.Condition()
        self._wanted = self._ended = False

    def want(self) -> None:
        """Have what is committed now brought over, soon."""
        with self._told:
            self._wanted = True
            self._told.notify()

    @contextmanager
    def running(self) -> Iterator[None]:
        """While the thread runs."""
        thread = threading.Thread(target=self._run, name="knowledge-checkpoints", daemon=True)
        thread.start()
        try:
            yield
        finally:
            with self._told:
                self._ended = True
                self._told.notify()
            thread.join()

    def _run(self) -> None:
        # What it cannot do, the writer does at its next checkpoint, and says what is wrong.
        with contextlib.suppress(sqlite3.Error):
            connection = sqlite3.connect(self._path, isolation_level=None)
            with contextlib.closing(connection):
                while self._is_wanted():
                    connection.execute("pragma wal_checkpoint(passive)").fetchall()

    def _is_wanted(self) -> bool:
        with self._told:
            self._told.wait_for(lambda: self._wanted or self._ended)
            wanted, self._wanted = self._wanted, False
            return wanted
