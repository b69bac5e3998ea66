"""The part of a log that is exported, and what was written of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import msgspec

from cortex.bus import Log, Recorded
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, RefusedError
from cortex.runtime.log import EventLog, LogMissingError, Meta
from cortex.runtime.subjects import PersonalLog, stored_log

PAGE, PAGE_BYTES = 1_024, 4 << 20  # of one read


class Counts(msgspec.Struct):
    """What was written."""

    events: int = 0  # that were read
    blobs: int = 0
    missing: int = 0  # blobs that events name, and that are missing or damaged in the home
    root: bytes = b""  # of the Merkle tree at the last position; only of the log's own format
    spans: int = 0  # of OTLP


class Source:
    """The events of a home from one position to another."""

    def __init__(self, history: History, log: Log, meta: Meta, first: int, last: int) -> None:
        self.history, self.log, self.meta = history, log, meta
        self.first, self.last = first, last
        self.counts = Counts()

    @classmethod
    @contextmanager
    def open(cls, home: Home, first: int, last: int | None) -> Iterator[Self]:
        """The events of *home* from *first* to *last*, both included; None for the newest.

        What is recorded meanwhile is left out.

        Raises:
            RefusedError: The home has no such events.
            HomeError: There is no such home, or it cannot be read.
            LogError: Its log cannot be read.
        """
        home.check()
        meta, head = _looked_at(home)
        end = head if last is None else last
        if not 0 < first <= end <= head:
            raise RefusedError(
                f"the log has events 1 to {head:,}, and none from {first:,} to {end:,}: name "
                "others with --from and --to"
            )
        with History.open(home.at(end)) as history:
            if history.log is None:
                raise RefusedError("the log is gone: it was moved away meanwhile")
            yield cls(history, history.log, meta, first, end)

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """The exact bytes of each event, each checked against its leaf hash, and them decrypted."""
        after, stored = self.first - 1, stored_log(self.log)
        while page := stored.read(after, PAGE, PAGE_BYTES):
            shown = self.log.decrypted(page) if isinstance(self.log, PersonalLog) else page
            yield from zip(page, shown, strict=True)
            after += len(page)

    def events(self) -> Iterator[Recorded]:
        """The events, which are counted as they come."""
        for record in self.history.read(self.first - 1):
            self.counts.events += 1
            yield record


def _looked_at(home: Home) -> tuple[Meta, int]:
    """Which log it is, and its last position, as far as *home* sees it."""
    try:
        log = EventLog.open(home.log_path, readonly=True)
    except LogMissingError:
        raise RefusedError("nothing was recorded yet: there is nothing to export") from None
    try:
        head = log.state().head
        if not head:
            raise RefusedError("nothing was recorded yet: there is nothing to export")
        return log.meta(), head if home.as_of is None else min(head, home.as_of)
    finally:
        log.close()
