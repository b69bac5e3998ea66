"""The log of a home, for reading alone: it works without a runtime, and beside one."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, islice
from typing import Self

import msgspec

from cortex.bus import Event, Log, Recorded, TopicGlob, Vocabulary, decode, last_before
from cortex.bus.events import VOCABULARY, ExecutionRequest
from cortex.runtime.kernel import Home, NotFoundError, parse_time
from cortex.runtime.log import (
    Blobs,
    BlobStore,
    EventLog,
    LogMissingError,
    MemoryBlobs,
    PastLog,
)
from cortex.runtime.subjects import PersonalBlobs, PersonalLog, SubjectKeys

from .errors import ProjectionError
from .index import Positions, Sought

PAGE = 1_024
PAGE_BYTES = 4 << 20
STREAM = "execution/"


class Selection(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All that is given must fit; nothing given fits every event."""

    topics: tuple[str, ...] = ()  # exact or with *: "step.completed", "step.*", "*.failed"
    since_ns: int | None = None  # included
    until_ns: int | None = None  # excluded
    execution: str = ""
    source: str = ""
    key: str = ""
    stream: str = ""
    cause: int = 0  # position of the event that led to it; 0 for any

    @cached_property
    def glob(self) -> TopicGlob:
        """What `topics` match."""
        return TopicGlob(self.topics)

    def fits(self, record: Recorded) -> bool:
        """Whether *record* is to be seen."""
        return (
            (not self.topics or self.glob.matches(record.topic))
            and (self.since_ns is None or record.time_ns >= self.since_ns)
            and (self.until_ns is None or record.time_ns < self.until_ns)
            and (not self.execution or record.correlation == self.execution)
            and (not self.source or record.source == self.source)
            and (not self.key or record.key == self.key)
            and (not self.stream or record.stream == self.stream)
            and (not self.cause or record.causation == self.cause)
        )

    @property
    def sought(self) -> Sought:
        """What the index is asked for."""
        return Sought(
            correlation=self.execution or None,
            causation=self.cause or None,
            source=self.source or None,
            key=self.key or None,
        )


REQUESTS = Selection(topics=(ExecutionRequest.topic_name(),))


def position_at(home: Home, when: str) -> int:
    """The position of the newest event that *home* had at a moment; 0 if it had none.

    Args:
        home: Whose log is meant.
        when: A position, "90s", "1h" or "2d" ago, or a date or time in ISO 8601.

    Raises:
        NotFoundError: The log has no such position yet.
        click.BadParameter: It is neither a position nor a time.
    """
    with HomeLog.open(home) as past:
        head = past.log.state().head if past.log is not None else 0
        if when.strip().isascii() and when.strip().isdigit():
            position = int(when)
            if position > head:
                raise NotFoundError(
                    "position", when.strip(), f"is not there yet: the last is {head}"
                )
            return position
        time_ns = parse_time(when, time.time_ns())
        return last_before(past.log, head, time_ns + 1) if past.log is not None else 0


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
        """The log of *home*, until the block is left; it ends where `home.as_of` says.

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
        seen = log if home.as_of is None else PastLog(log, home.as_of)
        keys = SubjectKeys.of_home(home.path)
        try:
            yield cls(home, PersonalLog(seen, keys), PersonalBlobs(BlobStore(home.blobs), keys))
        finally:
            log.close()

    def read(self, after: int = 0) -> Iterator[Recorded]:
        """Every event after position *after*, in order."""
        yield from self._between(after, 1 << 62)

    def stream(self, name: str) -> list[Recorded]:
        """The events of one stream, in order."""
        return list(self._of_stream(name))

    def select(self, selection: Selection, after: int = 0) -> Iterator[Recorded]:
        """The events after position *after* that fit *selection*, in order."""
        after, end = self._bounds(selection, after)
        if selection.stream:
            found: Iterable[Recorded] = self._of_stream(selection.stream)
        else:
            known = self._positions(selection)
            through = min(max(known.through if known else 0, after), end)
            positions = known.between(after, through + 1) if known else iter(())
            found = chain(self._each(positions), self._between(through, end))
        return (r for r in found if after < r.position <= end and selection.fits(r))

    def newest(self, selection: Selection) -> Iterator[Recorded]:
        """The events that fit *selection*, the newest first."""
        after, end = self._bounds(selection, 0)
        if selection.stream:
            found: Iterable[Recorded] = reversed(self.stream(selection.stream))
        else:
            known = self._positions(selection)
            through = min(max(known.through if known else 0, after), end)
            found = self._back(through, end)
            if known:
                positions = known.between(after, through + 1, newest=True)
                found = chain(found, filter(None, map(self.at, positions)))
        return (r for r in found if after < r.position <= end and selection.fits(r))

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

    def _bounds(self, selection: Selection, after: int) -> tuple[int, int]:
        """The position before the first event that may fit, and that of the last one.

        Times never go back in a log, so each of them is a position.
        """
        if self._log is None:
            return 0, 0
        head = self._log.state().head
        if selection.since_ns is not None:
            after = max(after, last_before(self._log, head, selection.since_ns))
        if selection.until_ns is not None:
            head = last_before(self._log, head, selection.until_ns)
        return after, head

    def _positions(self, selection: Selection) -> Positions | None:
        """What the index knows; None where it is of no use: the log alone says the same."""
        matches = selection.glob.matches if selection.topics else None
        if matches is None and selection.sought.everything:
            return None
        try:
            return Positions(self.home.projections_path, selection.sought, matches)
        except ProjectionError:
            return None

    def _each(self, positions: Iterator[int]) -> Iterator[Recorded]:
        """The events at *positions*, in order; those that stand near one another by one read."""
        while page := list(islice(positions, PAGE)):
            start = 0
            while start < len(page) and self._log is not None:
                first, end = page[start], start + 1
                while end < len(page) and page[end] - first < min(PAGE, 2 * (end - start)):
                    end += 1
                read = self._log.read(first - 1, page[end - 1] - first + 1, PAGE_BYTES)
                if not read:
                    return  # the index knows more than the log has: see `cortex doctor`
                for position in page[start:end]:
                    if position - first < len(read):
                        start += 1
                        yield decode(read[position - first])

    def _of_stream(self, name: str) -> Iterator[Recorded]:
        """The events of one stream, in order, read in pages."""
        version = 0
        while self._log is not None and (page := self._log.read_stream(name, version, PAGE)):
            records = [decode(data) for data in page]
            yield from records
            version = records[-1].version

    def _between(self, after: int, end: int) -> Iterator[Recorded]:
        """Every event after position *after* up to *end*, in order."""
        while after < end and (page := self._page(after, min(PAGE, end - after))):
            yield from page
            after = page[-1].position

    def _back(self, after: int, end: int) -> Iterator[Recorded]:
        """Every event after position *after* up to *end*, the newest first."""
        while end > after:
            first = max(after, end - PAGE)
            yield from reversed(list(self._between(first, end)))
            end = first

    def _page(self, after: int, limit: int) -> list[Recorded]:
        return [decode(d) for d in self._log.read(after, limit, PAGE_BYTES)] if self._log else []
