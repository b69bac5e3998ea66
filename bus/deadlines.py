"""When deadlines are due: at a time of the log, or after a duration.

A deadline with a duration (`after_ns`) uses a clock that nobody sets: it waits exactly so long,
however the log's time changes meanwhile. A deadline without one is due at its time.
"""

import heapq
import itertools
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from .event import Draft, OwnedDraft
from .log import Deadline

SPARE = 64  # deadlines in the order beyond twice those that stand, before it is cleaned


class Deferred(Draft, frozen=True, array_like=True, gc=False):
    """A draft as a deadline keeps it; one of an earlier version says neither of these."""

    after_ns: int = 0  # how long it lasts
    owner: str = ""  # the client that set it; "" for the hub's own process


def kept(draft: Draft, after_ns: int) -> bytes:
    """What a `Deadline` keeps."""
    owner = draft.owner if isinstance(draft, OwnedDraft) else ""
    if not (after_ns or owner):
        return _WRITE(draft)
    fields = (getattr(draft, name) for name in Draft.__struct_fields__)
    return _WRITE([*fields, after_ns, owner])


def kept_draft(deadline: Deadline) -> Deferred:
    """What *deadline* keeps, with its owner: older logs know only in whose name it was set."""
    draft = _READ(deadline.draft)
    return draft if draft.owner else msgspec.structs.replace(draft, owner=deadline.source)


class Deadlines:
    """The order in which deadlines come.

    Args:
        known: Those that stand, by name.
        skips: When the log's time left out how much that did not pass, in order; grows.
    """

    def __init__(self, known: Mapping[str, Deadline], skips: Sequence[tuple[int, int]]) -> None:
        self._known, self._skips = known, skips
        # By the log's time, and by that without what it left out. One that was set anew, or is not
        # wanted any more, stands there until its time; it is not the one that is known.
        self._heaps: tuple[list[_Entry], list[_Entry]] = ([], [])
        self._count = itertools.count()
        for deadline in known.values():
            self.set(deadline)

    def set(self, deadline: Deadline) -> None:
        """Take in one that stands from now on."""
        if sum(map(len, self._heaps)) > 2 * len(self._known) + SPARE:
            self._clean()  # or one that is set anew all day long would fill the memory
        lasts, at_ns = self._place(deadline)
        heapq.heappush(self._heaps[lasts], (at_ns, next(self._count), deadline))

    def pop_due(self, now_ns: int) -> list[Deadline]:
        """Those that have come, each once, the earliest first; give them back if it fails."""
        due: list[Deadline] = []
        for heap, until_ns in zip(self._heaps, (now_ns, self._lasting(now_ns)), strict=True):
            while heap and heap[0][0] <= until_ns:
                *_, deadline = heapq.heappop(heap)
                if self._known.get(deadline.name) is deadline:
                    due.append(deadline)
        return sorted(due, key=lambda deadline: (deadline.due_ns, deadline.name))

    def put_back(self, deadlines: Iterable[Deadline]) -> None:
        """They are still to come."""
        for deadline in deadlines:
            self.set(deadline)

    def next_ns(self) -> int | None:
        """The log's time at which the next one comes; None where none does."""
        if not self._known:
            return None
        at_ns, after_ns = map(self._first, self._heaps)
        if after_ns is None:
            return at_ns
        after_ns += sum(by_ns for _, by_ns in self._skips)
        return after_ns if at_ns is None else min(at_ns, after_ns)

    def _clean(self) -> None:
        for heap in self._heaps:
            heap[:] = [entry for entry in heap if self._known.get(entry[2].name) is entry[2]]
            heapq.heapify(heap)

    def _first(self, heap: list["_Entry"]) -> int | None:
        while heap:
            at_ns, _, deadline = heap[0]
            if self._known.get(deadline.name) is deadline:
                return at_ns
            heapq.heappop(heap)
        return None

    def _place(self, deadline: Deadline) -> tuple[bool, int]:
        """Whether it lasts, and where it is in the heap of its kind."""
        after_ns = _READ(deadline.draft).after_ns
        if not after_ns:
            return False, deadline.due_ns
        return True, self._lasting(deadline.due_ns - after_ns) + after_ns

    def _lasting(self, time_ns: int) -> int:
        return time_ns - sum(by_ns for at_ns, by_ns in self._skips if at_ns < time_ns)


_Entry = tuple[int, int, Deadline]  # when, a count that keeps them uncompared, and which
_READ = msgspec.msgpack.Decoder(Deferred).decode
_WRITE = msgspec.msgpack.Encoder().encode
