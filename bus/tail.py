"""The newest records in memory, so that live subscribers never touch the disk."""

from collections.abc import Sequence

from .event import Recorded

KEEP = 16_384  # records; at 64 concurrent executions this is some seconds of full load


class Tail:
    """A run of records that ends at the head. One thread extends it while others read."""

    def __init__(self, head: int, keep: int = KEEP) -> None:
        self._keep = keep
        # One tuple, replaced whole: a reader that took it sees positions and records that agree.
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
        """Records after *after* up to *through*, without those that are older than the tail."""
        before, kept = self._run
        return kept[max(0, after - before) : max(0, through - before)]

    def after(self, position: int, limit: int) -> Sequence[Recorded] | None:
        """Up to *limit* records after *position*; None where they are older than the tail."""
        before, kept = self._run
        first = position - before
        return kept[first : first + limit] if first >= 0 else None
