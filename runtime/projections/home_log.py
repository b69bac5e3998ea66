"""The log of a home, for reading alone: it works without a runtime, and beside one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Self

import msgspec

from cortex.bus import Event, Log, Recorded, Vocabulary, decode
from cortex.bus.events import VOCABULARY, ExecutionRequest
from cortex.runtime.kernel import Home, NotFoundError
from cortex.runtime.log import Blobs, BlobStore, EventLog, LogMissingError, MemoryBlobs

from .errors import ProjectionError
from .index import EventIndex, find
from .snapshot import snapshot

PAGE = 1_024
PAGE_BYTES = 4 << 20
STREAM = "execution/"


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """All that is given must fit; nothing given fits every event."""

    topics: tuple[str, ...] = ()  # exact or with *: "step.completed", "step.*", "*.failed"
    since_ns: int | None = None  # included
    until_ns: int | None = None  # excluded
    execution: str = ""
    source: str = ""
    key: str = ""

    def fits(self, record: Recorded) -> bool:
        """Whether *record* is to be seen."""
        return (
            (not self.topics or any(fnmatchcase(record.topic, t) for t in self.topics))
            and (self.since_ns is None or record.time_ns >= self.since_ns)
            and (self.until_ns is None or record.time_ns < self.until_ns)
            and (not self.execution or record.correlation == self.execution)
            and (not self.source or record.source == self.source)
            and (not self.key or record.key == self.key)
        )

    def index_topic(self) -> str:
        """The narrowest topic, family or * that the query index can be asked for."""
        if len(self.topics) != 1:
            return "*"
        (topic,) = self.topics
        family, _, verb = topic.partition(".")
        if not _has_wildcard(topic):
            return topic
        return f"{family}.*" if verb == "*" and not _has_wildcard(family) else "*"


def _has_wildcard(text: str) -> bool:
    return any(sign in text for sign in "*?[")


REQUESTS = Selection(topics=(ExecutionRequest.topic_name(),))


class HomeLog:
    """What was recorded; without a log, nothing was."""

    def __init__(
        self, home: Home, log: Log | None, blobs: Blobs, vocabulary: Vocabulary = VOCABULARY
    ) -> None:
        self.home = home
        self.blobs = blobs
        self.vocabulary = vocabulary
        self._log = log

    @property
    def log(self) -> Log | None:
        """What is read; None where nothing was recorded yet."""
        return self._log

    @classmethod
    @contextmanager
    def open(cls, home: Home) -> Iterator[Self]:
        """The log of *home*, until the block is left.

        Raises:
            HomeError: There is no such home, or it cannot be read.
            LogError: Its log cannot be read.
        """
        home.check()
        try:
            log = EventLog.open(home.log_path, readonly=True)
        except LogMissingError:
            yield cls(home, None, MemoryBlobs())
            return
        try:
            yield cls(home, log, BlobStore(home.blobs))
        finally:
            log.close()

    def read(self, after: int = 0) -> Iterator[Recorded]:
        """Every event after position *after*, in order."""
        while page := self._page(after, PAGE):
            for record in page:
                after = record.position
                yield record

    def stream(self, name: str) -> list[Recorded]:
        """The events of one stream, in order."""
        records: list[Recorded] = []
        while self._log is not None:
            page = self._log.read_stream(name, len(records), PAGE)
            records += map(decode, page)
            if len(page) < PAGE:
                break
        return records

    def select(self, selection: Selection, after: int = 0) -> Iterator[Recorded]:
        """The events after position *after* that fit *selection*, in order."""
        positions, through = self._indexed(selection, after)
        for record in self._each(positions):
            if selection.fits(record):
                yield record
        for record in self.read(through):
            if selection.fits(record):
                yield record

    def newest(self, selection: Selection) -> Iterator[Recorded]:
        """The events that fit *selection*, the newest first."""
        positions, through = self._indexed(selection, 0)
        yield from reversed([r for r in self.read(through) if selection.fits(r)])
        for position in reversed(positions):
            record = self.at(position)  # None: the index knows more than the log has
            if record is not None and selection.fits(record):
                yield record

    def at(self, position: int) -> Recorded | None:
        """The event at *position*; None where the log is not as long."""
        found = self._page(position - 1, 1)
        return found[0] if found else None

    def event(self, record: Recorded) -> Event | None:
        """The typed event in *record*; None for a topic that only a plugin knows."""
        return self.vocabulary.read(record) if record.topic in self.vocabulary else None

    def execution_id(self, prefix: str) -> str:
        """The one execution whose id starts with *prefix*.

        Raises:
            NotFoundError: There is none, or several.
        """
        if self._log is not None and self._log.stream_version(STREAM + prefix):
            return prefix
        ids = [r.stream.removeprefix(STREAM) for r in self.newest(REQUESTS)]
        found = list(dict.fromkeys(i for i in ids if i.startswith(prefix)))
        if len(found) == 1:
            return found[0]
        if found:
            some = ", ".join(found[:4]) + (", ..." if len(found) > 4 else "")
            raise NotFoundError("execution", prefix, f"could be {some}: give more of the id")
        raise NotFoundError(
            "execution", prefix, "is not in this home: `cortex execution list` shows what is"
        )

    def _each(self, positions: Sequence[int]) -> Iterator[Recorded]:
        """The events at *positions*, in order; those that stand near one another by one read."""
        start = 0
        while start < len(positions) and self._log is not None:
            first, end = positions[start], start + 1
            while end < len(positions) and positions[end] - first < min(PAGE, 2 * (end - start)):
                end += 1
            page = self._log.read(first - 1, positions[end - 1] - first + 1, PAGE_BYTES)
            if not page:
                return  # the index knows more than the log has: see `cortex doctor`
            for position in positions[start:end]:
                if position - first < len(page):
                    start += 1
                    yield decode(page[position - first])

    def _page(self, after: int, limit: int) -> list[Recorded]:
        return [decode(d) for d in self._log.read(after, limit, PAGE_BYTES)] if self._log else []

    def _indexed(self, selection: Selection, after: int) -> tuple[list[int], int]:
        """Positions that may fit, as far as the index goes, and how far that is."""
        topic = selection.index_topic()
        if topic == "*" and not (selection.execution or selection.source or selection.key):
            return [], after
        try:
            with snapshot(self.home.projections_path, EventIndex.name) as view:
                found = find(
                    view,
                    topic=topic,
                    since_ns=selection.since_ns,
                    until_ns=selection.until_ns,
                    correlation=selection.execution or None,
                    source=selection.source or None,
                    key=selection.key or None,
                    limit=1 << 31,
                    after=after,
                )
        except ProjectionError:
            return [], after  # it may be missing at any time: the log alone says the same
        return found.positions, max(found.through, after)
