"""What subscribers read: new events from memory, older ones from the log, a page at a time."""

from collections.abc import Sequence

from ..event import Recorded, decode
from ..filter import Filter
from ..log import Log
from ..requests import LOOKED_AT, Fetch, Page

KEEP = 16_384  # records; at 64 concurrent executions this is a few seconds of full load
RING = 4_096  # ephemeral events kept; the oldest are dropped first
BACKLOG_BYTES = 4 << 20
BACKLOG_READ = 1_024  # records read from disk at once for a subscriber that is far behind


class Pages:
    """The events of one log. One thread adds to them while others read."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._tail = Tail(0)
        self._ring = Tail(0, RING)  # ephemeral events, by their own numbering
        self._rung = 0  # how many there have been

    def begin(self, head: int) -> None:
        """Start with no records, after the position *head*."""
        self._tail = Tail(head)

    def extend(self, records: Sequence[Recorded]) -> None:
        """Add durable events, which follow the newest one."""
        self._tail.extend(records)

    def pass_by(self, records: Sequence[Recorded]) -> None:
        """Add ephemeral events."""
        self._ring.extend(records)
        self._rung += len(records)

    def record(self, position: int) -> Recorded:
        """The durable event at *position*, which exists."""
        return self.after(position - 1, 1)[0]

    def after(self, position: int, limit: int) -> Sequence[Recorded]:
        """Durable events after *position*: at least one if there is one, at most *limit*."""
        found = self._tail.after(position, limit)
        if found is None:
            limit = min(limit, BACKLOG_READ)
            found = [decode(r) for r in self._log.read(position, limit, BACKLOG_BYTES)]
        return found

    def page(self, request: Fetch, seen: Filter, head: int, epoch: int) -> Page:
        """The next page of a subscription.

        Args:
            request: From where, and how much.
            seen: What the subscription sees.
            head: Position of the newest durable event that may be read.
            epoch: The log's newest.
        """
        records: list[Recorded] = []
        through, size_bytes, topics = request.after, 0, seen.topics
        last = min(head, through + LOOKED_AT)
        while through < last:
            found = self.after(through, last - through)
            for record in found:
                # Most events are of topics that this subscription does not see.
                if (topics is None or record.topic in topics) and seen.matches(
                    record.topic, record.key
                ):
                    size_bytes += len(record.body) + 128
                    if records and size_bytes > request.limit_bytes:
                        return self._with_ring(request, seen, records, record.position - 1, epoch)
                    records.append(record)
                    if len(records) >= request.limit:
                        return self._with_ring(request, seen, records, record.position, epoch)
            through = found[-1].position
        return self._with_ring(request, seen, records, through, epoch)

    def _with_ring(
        self, request: Fetch, seen: Filter, records: list[Recorded], through: int, epoch: int
    ) -> Page:
        end = self._rung
        if request.ring_after >= end or request.ring_after < 0:
            return Page(tuple(records), through, ring_through=end, log_epoch=epoch)
        fresh = self._ring.newest(request.ring_after, end)
        return Page(
            tuple(records),
            through,
            tuple(r for r in fresh if seen.matches(r.topic, r.key)),
            end,
            end - request.ring_after - len(fresh),
            epoch,
        )


class Tail:
    """A run of records that ends at the head. One thread extends it while others read."""

    def __init__(self, head: int, keep: int = KEEP) -> None:
        self._keep = keep
        # One tuple, replaced whole: a reader sees positions and records that match.
        self._run: tuple[int, list[Recorded]] = (head, [])  # (position before the first, records)

    @property
    def before(self) -> int:
        """Position before the first record that is kept."""
        return self._run[0]

    def extend(self, records: Sequence[Recorded]) -> None:
        """Add the records that follow the last one."""
        before, kept = self._run
        kept.extend(records)
        if len(kept) > 2 * self._keep:
            cut = len(kept) - self._keep
            self._run = (before + cut, kept[cut:])

    def newest(self, after: int, through: int) -> Sequence[Recorded]:
        """Records after *after* up to *through*, without those older than the tail."""
        before, kept = self._run
        return kept[max(0, after - before) : max(0, through - before)]

    def after(self, position: int, limit: int) -> Sequence[Recorded] | None:
        """Up to *limit* records after *position*; None if they are older than the tail."""
        before, kept = self._run
        first = position - before
        return kept[first : first + limit] if first >= 0 else None
