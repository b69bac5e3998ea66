"""A projection whose fold keeps a set, and a program that builds its newest version.

`projections_child.py LOG FILE VERSION [inside]` says a line for each span. With `inside` it stops
in the middle of the transaction that takes the new rows over, and waits there.
"""

import sqlite3
import sys
from collections.abc import Iterator, Sequence
from itertools import chain

from cortex.bus import Recorded
from cortex.runtime.log import EventLog
from cortex.runtime.projections import Changes, Runner, digest_of, snapshot


class Streams:
    """Each stream with the number of its newest event; version 2 adds a column."""

    name = "streams"

    def __init__(self, version: int = 1, *, stops: bool = False) -> None:
        self.version = version
        self._stops, self._made = stops, 0

    @property
    def tables(self) -> Sequence[str]:
        """In version 2 the newest event has its topic, too."""
        self._made += 1
        more = ", topic text" if self.version > 1 else ""
        made = (
            f"create table streams (stream text primary key, newest integer not null{more}) strict"
        )
        if self._stops and self._made == 2:  # the second time is in the transaction
            return list(chain([made], _waiting()))
        return [made]

    def begin(self) -> Changes:
        """Empty changes."""
        return _Newest(self.version)


def _say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def _waiting() -> Iterator[str]:
    _say("inside")
    sys.stdin.read()
    yield "select 1"


class _Newest:
    def __init__(self, version: int) -> None:
        self._version = version
        self._rows: set[tuple[object, ...]] = set()  # its order depends on PYTHONHASHSEED

    def apply(self, records: Sequence[Recorded]) -> None:
        newest = {record.stream: record for record in records}
        gone = [row for row in self._rows if row[0] in newest]
        self._rows.difference_update(gone)
        for record in newest.values():
            row = (record.stream, record.position, record.topic)
            self._rows.add(row[: self._version + 1])

    def flush(self, connection: sqlite3.Connection) -> None:
        marks = ", ".join("?" * (self._version + 1))
        connection.executemany(f"replace into streams values ({marks})", self._rows)


def main() -> None:
    """Advance to the end of the log, span by span; the digest is the last line."""
    log_path, path, version = sys.argv[1], sys.argv[2], int(sys.argv[3])
    log = EventLog.open(log_path, readonly=True)
    runner = Runner.open(path, [Streams(version, stops="inside" in sys.argv)])
    while not runner.at_head:
        _say(runner.advance(log, spans=1))
    runner.close()
    with snapshot(path, Streams.name) as view:
        _say(digest_of(view.connection, Streams.name)[0])


if __name__ == "__main__":
    main()
