"""When deadlines are due: at a time of the log, or after a duration.

A deadline with a duration (`after_ns`) uses a monotonic clock: it waits exactly that long,
however the log's time changes meanwhile. A deadline without one is due at its time.
"""

import heapq
import itertools
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..event import Draft, OwnedDraft
from ..log import Deadline

SPARE = 64  # entries beyond twice the pending deadlines, before the heap is cleaned


class Deferred(Draft, frozen=True, array_like=True, gc=False):
    """The stored form of a deadline's draft; earlier versions stored neither field."""

    after_ns: int = 0  # its duration
    owner: str = ""  # the client that set it; "" for the hub's own process


def kept(draft: Draft, after_ns: int) -> bytes:
    """What a stored `Deadline` contains."""
    owner = draft.owner if isinstance(draft, OwnedDraft) else ""
    if not (after_ns or owner):
        return _WRITE(draft)
    fields = (getattr(draft, name) for name in Draft.__struct_fields__)
    return _WRITE([*fields, after_ns, owner])


def kept_draft(deadline: Deadline) -> Deferred:
    """The stored *deadline*, with its owner; older logs have only the name it was set under."""
    draft = _READ(deadline.draft)
    return draft if draft.owner else msgspec.structs.replace(draft, owner=deadline.source)


class Deadlines:
    """The order in which deadlines become due.

    Args:
        known: Pending deadlines, by name.
        skips: Jumps of the log's time: when, and by how much; in order. The list grows.
    """

    def __init__(self, known: Mapping[str, Deadline], skips: Sequence[tuple[int, int]]) -> None:
        self._known, self._skips = known, skips
        # One heap by the log's time, and one by that time without its jumps. An entry of a deadline
        # that was replaced or forgotten stays until its time, and is then skipped.
        self._heaps: tuple[list[_Entry], list[_Entry]] = ([], [])
        self._count = itertools.count()
        for deadline in known.values():
            self.set(deadline)

    def set(self, deadline: Deadline) -> None:
        """Add a pending deadline."""
        if sum(map(len, self._heaps)) > 2 * len(self._known) + SPARE:
            self._clean()  # otherwise a deadline that is replaced all day would fill the memory
        lasts, at_ns = self._place(deadline)
        heapq.heappush(self._heaps[lasts], (at_ns, next(self._count), deadline))

    def pop_due(self, now_ns: int) -> list[Deadline]:
        """Due deadlines, each once, earliest first; if handling fails, call `put_back`."""
        due: list[Deadline] = []
        for heap, until_ns in zip(self._heaps, (now_ns, self._lasting(now_ns)), strict=True):
            while heap and heap[0][0] <= until_ns:
                *_, deadline = heapq.heappop(heap)
                if self._known.get(deadline.name) is deadline:
                    due.append(deadline)
        return sorted(due, key=lambda deadline: (deadline.due_ns, deadline.name))

    def put_back(self, deadlines: Iterable[Deadline]) -> None:
        """Make these pending again."""
        for deadline in deadlines:
            self.set(deadline)

    def next_ns(self) -> int | None:
        """The log's time at which the next deadline is due; None if there is none."""
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
        """Whether the deadline has a duration, and its time in the heap of its kind."""
        after_ns = _READ(deadline.draft).after_ns
        if not after_ns:
            return False, deadline.due_ns
        return True, self._lasting(deadline.due_ns - after_ns) + after_ns

    def _lasting(self, time_ns: int) -> int:
        return time_ns - sum(by_ns for at_ns, by_ns in self._skips if at_ns < time_ns)


_Entry = tuple[int, int, Deadline]  # time, a count that avoids comparing deadlines, deadline
_READ = msgspec.msgpack.Decoder(Deferred).decode
_WRITE = msgspec.msgpack.Encoder().encode
