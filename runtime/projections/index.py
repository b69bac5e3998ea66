"""The query index: which positions of the log have a topic, an execution, a cause or a source."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import chain
from pathlib import Path

import msgspec

from cortex.bus import Recorded

from .projection import Changes
from .snapshot import Snapshot, snapshot

ROWS = 128  # in one statement: six values each, under the limit of every build of SQLite
FIRST_PAGE, LARGEST_PAGE = 64, 16_384  # positions: the first ones soon, all of them in few reads


class EventIndex:
    """Indexes over the log that would halve its speed if they stood in it."""

    name = "event_index"
    version = 2  # 1 had times, which positions tell, and no causes
    tables = (
        """
        create table event_index (
            position    integer primary key,
            topic       text    not null,
            correlation text,
            causation   integer,
            source      text    not null,
            key         text
        ) strict
        """,
        "create index event_index_topic on event_index (topic)",
        """
        create index event_index_correlation on event_index (correlation)
        where correlation is not null
        """,
        """
        create index event_index_causation on event_index (causation)
        where causation is not null
        """,
        "create index event_index_source on event_index (source)",
        "create index event_index_key on event_index (key) where key is not null",
    )

    def begin(self) -> Changes:
        """Empty changes for the next span."""
        return _IndexRows()


class _IndexRows:
    def __init__(self) -> None:
        self._rows: list[tuple[int, str, str | None, int | None, str, str | None]] = []

    def apply(self, records: Sequence[Recorded]) -> None:
        self._rows += [
            (r.position, r.topic, r.correlation, r.causation, r.source, r.key) for r in records
        ]

    def flush(self, connection: sqlite3.Connection) -> None:
        for start in range(0, len(self._rows), ROWS):
            chunk = self._rows[start : start + ROWS]
            values = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(chunk))
            connection.execute(
                f"insert into event_index values {values}",  # noqa: S608  # only question marks
                tuple(chain.from_iterable(chunk)),
            )


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """What events must have; None fits every event."""

    correlation: str | None = None  # the execution it serves
    causation: int | None = None  # position of the event that led to it
    source: str | None = None  # who published it
    key: str | None = None  # value of the class's routing field

    @property
    def everything(self) -> bool:
        """Whether every event fits."""
        return self == Sought()


def find(
    view: Snapshot,
    sought: Sought,
    topic: str | None = None,
    *,
    limit: int = 100,
    after: int = 0,
    before: int | None = None,
    newest: bool = False,
) -> list[int]:
    """Positions of the events that fit everything given, in order; the newest first if *newest*.

    Args:
        view: Snapshot of the index.
        sought: What they have.
        topic: Their topic; None for any.
        limit: At most so many.
        after: Only positions after this one.
        before: Only positions before this one.
        newest: The last *limit* instead of the first.
    """
    terms: list[tuple[str, int | str]] = [("position > ?", after)]
    if before is not None:
        terms.append(("position < ?", before))
    few = sought.correlation is not None or sought.causation is not None
    for column, value in (
        ("correlation", sought.correlation),
        ("causation", sought.causation),
        # An execution has few events, a topic or a source millions: SQLite must not begin there.
        ("+source" if few else "source", sought.source),
        ("+key" if few else "key", sought.key),
        ("+topic" if few else "topic", topic),
    ):
        if value is not None:
            terms.append((f"{column} = ?", value))
    order = "desc" if newest else "asc"
    rows = view.connection.execute(
        f"select position from event_index where {' and '.join(term for term, _ in terms)} "  # noqa: S608  # names of ours; what comes from outside is bound
        f"order by position {order} limit ?",  # every value is bound
        (*(value for _, value in terms), limit),
    )
    return [position for (position,) in rows]


def topics_in(view: Snapshot) -> list[str]:
    """Every topic that the index has, sorted; it looks at one event of each."""
    rows = view.connection.execute(
        "with recursive t(topic) as ("
        " select min(topic) from event_index union all"
        " select (select min(topic) from event_index where topic > t.topic) from t"
        " where t.topic is not null"
        ") select topic from t where topic is not null"
    )
    return [topic for (topic,) in rows]


class Positions:
    """Where in a log the events are that fit, read from its index in pages.

    Args:
        path: File of the projections.
        sought: What the events have.
        matches: Says which topics; None for all.

    Raises:
        ProjectionError: There is no index yet, or it cannot be read.
    """

    def __init__(
        self, path: Path, sought: Sought, matches: Callable[[str], bool] | None = None
    ) -> None:
        self._path, self._sought = path, sought
        with snapshot(path, EventIndex.name) as view:
            self.through = view.position  # the index knows the log up to here
            self._topics: list[str | None] = [None]
            if matches is not None:
                self._topics = [topic for topic in topics_in(view) if matches(topic)]

    def between(self, after: int, before: int, *, newest: bool = False) -> Iterator[int]:
        """Those after *after* and before *before*, ascending; descending if *newest*.

        Raises:
            ProjectionError: It cannot be read any more.
        """
        each = [self._of(topic, after, before, newest) for topic in self._topics]
        return merge(*each, reverse=newest)

    def _of(self, topic: str | None, after: int, before: int, newest: bool) -> Iterator[int]:
        limit = FIRST_PAGE
        while True:
            with snapshot(self._path, EventIndex.name) as view:  # short, or it would hold the file
                page = find(
                    view, self._sought, topic,
                    limit=limit, after=after, before=before, newest=newest,
                )  # fmt: skip
            yield from page
            if len(page) < limit:
                return
            after, before = (after, page[-1]) if newest else (page[-1], before)
            limit = min(4 * limit, LARGEST_PAGE)
