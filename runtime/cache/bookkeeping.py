"""What processes tell one another in cache.db: uses, counts, and what to drop from memory.

Uses and counts are collected in memory and recorded once a second, so that a value that is found
costs no write. A kill loses the last second of them, which changes no value.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from .cold import ColdTier
from .database import Database, transaction
from .hot import HotTier
from .warm import WarmTier

EVERY_S: Final = 1.0
GONE_NS: Final = 86_400_000_000_000  # processes that were not seen for a day are not counted


class Notice(NamedTuple):
    """What another process removed."""

    what: str  # "drop" a key, "forget" a subject, "clear" all
    about: bytes = b""


CLEAR: Final = Notice("clear")


class Bookkeeping:
    """The books of one process; threads may share it."""

    def __init__(
        self,
        database: Database,
        hot: HotTier,
        warm: WarmTier,
        cold: ColdTier,
        now_ns: Callable[[], int],
        steady_s: Callable[[], float],
    ) -> None:
        self._database, self._hot, self._warm, self._cold = database, hot, warm, cold
        self._now_ns, self._steady_s = now_ns, steady_s
        self._recorded: dict[str, int] = {}  # of the counts, what is in the file
        self._state = hot.state()  # likewise
        self._seen = -1  # the last notice that was heeded; -1 before the file was opened
        self._opened = 0
        self._look_at_s = 0.0
        self._turn = threading.Lock()

    def is_due(self) -> bool:
        """Whether the last `look` was a second ago."""
        return self._steady_s() >= self._look_at_s

    def look(self) -> list[Notice]:
        """Record uses and counts; return what to drop from memory since the last look."""
        if not self._turn.acquire(blocking=False):
            return []  # another thread does
        try:
            self._look_at_s = self._steady_s() + EVERY_S
            self._database.run(self._record, None)
            return self._database.run(self._notices, [])
        finally:
            self._turn.release()

    def flush(self) -> None:
        """Record uses and counts now."""
        with self._turn:
            self._database.run(self._record, None)

    def leave(self) -> None:
        """Record them, and that this process uses the cache no more."""
        if not self._database.is_there:
            return
        self.flush()

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("delete from processes where pid = ?", (os.getpid(),))

        self._database.run(work, None)

    def notify_clear(self) -> None:
        """Have other processes drop everything from their memory."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "insert into notices (what, about, made_ns) values (?, ?, ?)",
                ("clear", b"", self._now_ns()),
            )

        self._database.run(work, None)

    def hint(self, inputs: Sequence[bytes]) -> None:
        """Record what will be used, the most likely first, in place of earlier hints."""

        def work(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.execute("delete from hints")
                connection.executemany("insert into hints values (?, ?)", enumerate(inputs, 1))

        if self._database.is_there:  # else nothing is cached that would be found
            self._database.run(work, None)

    def hinted(self) -> list[bytes]:
        """What `hint` recorded."""
        sql = "select input from hints order by rank"
        return self._database.run(lambda db: [each for (each,) in db.execute(sql)], [])

    def _notices(self, connection: sqlite3.Connection) -> list[Notice]:
        first, last = connection.execute("select min(id), max(id) from notices").fetchone()
        last = last or 0
        before, self._seen = self._seen, last
        reopened, self._opened = self._opened != self._database.opened, self._database.opened
        if before < 0:
            return []
        # Of a file that took the place of another, or after too many notices, nothing is known.
        if reopened or last < before or (last > before and first > before + 1):
            return [CLEAR]
        rows = connection.execute(
            "select what, about from notices where id > ? order by id", (before,)
        )
        return [Notice(*row) for row in rows]

    def _record(self, connection: sqlite3.Connection) -> None:
        used, more = self._hot.take_used(), dict(self._more())
        state = self._hot.state()
        if not (used or more) and state == self._state:
            return
        with transaction(connection):
            self._warm.note_used(connection, used)
            connection.executemany(
                "insert into counters values (?, ?) "
                "on conflict do update set value = value + excluded.value",
                [(name, count) for name, (count, _) in more.items()],
            )
            connection.execute(
                "insert or replace into processes values (?, ?, ?, ?, ?, ?)",
                (os.getpid(), *state, self._now_ns()),
            )
        self._state = state
        self._recorded |= {name: total for name, (_, total) in more.items()}

    def _more(self) -> Iterable[tuple[str, tuple[int, int]]]:
        """Counts that grew since they were recorded: by how much, and to what."""
        for name, total in self._totals().items():
            if (grown := total - self._recorded.get(name, 0)) > 0:
                yield name, (grown, total)

    def _totals(self) -> dict[str, int]:
        hot, warm, cold = self._hot.counts(), self._warm, self._cold
        return {
            "L1.hits": hot.hits,
            "L1.misses": hot.misses,
            "L1.ghost_hits": hot.ghost_hits,
            "L1.evictions": hot.evictions,
            "L2.hits": warm.hits,
            "L2.misses": warm.misses,
            "L2.evictions": warm.evictions,
            "L2.broken": warm.broken,
            "L2.failures": self._database.failures,
            "L3.hits": cold.hits,
            "L3.misses": cold.misses,
            "L3.broken": cold.broken,
        }


def is_alive(pid: int) -> bool:
    """Whether there is a process of that number."""
    with contextlib.suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
