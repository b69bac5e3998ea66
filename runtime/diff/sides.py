"""What a comparison of two histories says."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

import msgspec

from cortex.bus import Recorded
from cortex.runtime.kernel import iso
from cortex.runtime.replay import FieldChange

from .state import Changed

Kind = Literal["logs", "moments", "executions"]


class DiffEvent(msgspec.Struct, frozen=True):
    """One event in short."""

    position: int
    stream: str
    topic: str
    source: str
    time: str  # UTC

    @classmethod
    def of(cls, record: Recorded) -> "DiffEvent":
        """*record* in short."""
        return cls(record.position, record.stream, record.topic, record.source, iso(record.time_ns))


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two histories, and what it has from where they diverge."""

    name: str
    events: int  # in all
    after: int  # of them behind the common part
    first: DiffEvent | None  # of those; None if there is none
    kinds: dict[str, int]  # of those, by topic, the most frequent first
    status: str = ""  # of an execution


class HistoryDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Two histories, and where they diverge."""

    kind: Kind
    common: int  # events at the beginning that are the same
    parted: int | None  # the first position at which they differ; None if they do not
    a: Side
    b: Side
    changes: tuple[FieldChange, ...] = ()  # between the first events that differ, of one topic
    state: dict[str, Changed] | None = None  # of two moments, by what changed

    @property
    def same(self) -> bool:
        """Whether both are the same history."""
        return self.parted is None


def side_of(name: str, events: int, behind: Iterable[Recorded], *, status: str = "") -> Side:
    """One side, of the records *behind* the common part."""
    first, kinds, after = None, Counter[str](), 0
    for record in behind:
        first = first or DiffEvent.of(record)
        kinds[record.topic] += 1
        after += 1
    by_number = dict(sorted(kinds.items(), key=lambda each: (-each[1], each[0])))
    return Side(name=name, events=events, after=after, first=first, kinds=by_number, status=status)
