"""The query index: which positions of the log have a topic, a time, a correlation or a source."""

import sqlite3
from collections.abc import Sequence
from itertools import chain

import msgspec

from cortex.bus import Recorded

from .projection import Changes
from .snapshot import Snapshot

ROWS = 128  # in one statement: six values each, under the limit of every build of SQLite


class EventIndex:
    """Indexes over the log that would halve its speed if they stood in it."""

    name = "event_index"
    version = 1
    tables = (
        """
        create table event_index (
            position    integer primary key,
            topic       text    not null,
            time_ns     integer not null,
            correlation text,
            source      text    not null,
            key         text
        ) strict
        """,
        "create index event_index_topic on event_index (topic)",
        "create index event_index_time on event_index (time_ns)",
        """
        create index event_index_correlation on event_index (correlation)
        where correlation is not null
        """,
        "create index event_index_source on event_index (source)",
        "create index event_index_key on event_index (key) where key is not null",
    )

    def begin(self) -> Changes:
        """Empty changes for the next span."""
        return _Rows()


class _Rows:
    def __init__(self) -> None:
        self._rows: list[tuple[int, str, int, str | None, str, str | None]] = []

    def apply(self, records: Sequence[Recorded]) -> None:
        self._rows += [
            (r.position, r.topic, r.time_ns, r.correlation, r.source, r.key) for r in records
        ]

    def flush(self, connection: sqlite3.Connection) -> None:
        for start in range(0, len(self._rows), ROWS):
            chunk = self._rows[start : start + ROWS]
            values = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(chunk))
            connection.execute(
                f"insert into event_index values {values}",  # noqa: S608  # only question marks
                tuple(chain.from_iterable(chunk)),
            )


class IndexPage(msgspec.Struct, frozen=True):
    """A page of what was asked for."""

    positions: list[int]  # ascending
    through: int  # position of the log up to which the index knows


def find(
    view: Snapshot,
    *,
    topic: str = "*",
    since_ns: int | None = None,
    until_ns: int | None = None,
    correlation: str | None = None,
    source: str | None = None,
    key: str | None = None,
    limit: int = 100,
    after: int = 0,
    newest: bool = False,
) -> IndexPage:
    """Positions of the events that fit everything given, in order.

    Args:
        view: Snapshot of the index.
        topic: Exact, ``family.*``, or ``*``.
        since_ns: Earliest time, included.
        until_ns: Latest time, excluded.
        correlation: The execution it serves.
        source: Who published it.
        key: Value of the class's routing field.
        limit: At most so many.
        after: Only positions after this one: the last of the page before.
        newest: The last *limit* instead of the first.
    """
    terms = [("position > ?", after), *_topic_terms(topic)]
    # Time never goes back in the log, so a time is a position, which every index ends with.
    if since_ns is not None:
        terms.append(
            ("position >= (select min(position) from event_index where time_ns >= ?)", since_ns)
        )
    if until_ns is not None:
        terms.append(
            ("position <= (select max(position) from event_index where time_ns < ?)", until_ns)
        )
    for column, value in (("correlation", correlation), ("source", source), ("key", key)):
        if value is not None:
            terms.append((f"{column} = ?", value))
    order = "desc" if newest else "asc"
    rows = view.connection.execute(
        f"select position from event_index where {' and '.join(term for term, _ in terms)} "  # noqa: S608
        f"order by position {order} limit ?",  # every value is bound
        (*(value for _, value in terms), limit),
    )
    return IndexPage(sorted(position for (position,) in rows), view.position)


def _topic_terms(topic: str) -> list[tuple[str, int | str]]:
    if topic == "*":
        return []
    if topic.endswith(".*"):
        family = topic[:-2]
        return [("topic >= ?", f"{family}."), ("topic < ?", f"{family}/")]  # "/" follows "."
    return [("topic = ?", topic)]
