"""Counts repeated events in windows of time, by kind, with a bound on the kinds of one client."""

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import msgspec

KINDS = 16  # of one client at a time; what is more is counted as one

Kind = TypeVar("Kind", bound=Hashable)
Count = TypeVar("Count")


class _Window(msgspec.Struct, Generic[Count]):
    until_ns: int
    client: str
    count: Count


class Windows(Generic[Kind, Count]):
    """Counts of each kind, as long as something comes of it; holds no lock, its owner does.

    Args:
        lasts_ns: How long a window is.
        begin: Makes the count of a kind that nothing came of yet.
    """

    def __init__(self, lasts_ns: int, begin: Callable[[], Count]) -> None:
        self._lasts_ns, self._begin = lasts_ns, begin
        self._windows: dict[Kind, _Window[Count]] = {}
        self._kinds: Counter[str] = Counter()  # by client

    def of(self, client: str, kind: Kind, rest: Kind, now_ns: int) -> tuple[Kind, Count]:
        """Where *kind* is counted; with *rest*, where *client* has too many kinds already."""
        if kind not in self._windows and self._kinds[client] >= KINDS:
            kind = rest
        if kind not in self._windows:
            self._windows[kind] = _Window(now_ns + self._lasts_ns, client, self._begin())
            self._kinds[client] += 1
        return kind, self._windows[kind].count

    def over(self, now_ns: int, is_told: Callable[[Count], bool]) -> list[tuple[Kind, Count]]:
        """What was counted in windows that are over; a kind that nothing came of is forgotten."""
        over: list[tuple[Kind, Count]] = []
        for kind, window in list(self._windows.items()):
            if window.until_ns > now_ns:
                continue
            if is_told(window.count):
                over.append((kind, window.count))
                window.until_ns = now_ns + self._lasts_ns
                continue
            del self._windows[kind]
            self._kinds[window.client] -= 1
            self._kinds += Counter()  # without what is at zero
        return over

    def next_ns(self) -> int | None:
        """When the next window is over."""
        return min((window.until_ns for window in self._windows.values()), default=None)

    def rest(self) -> list[tuple[Kind, Count]]:
        """All that is counted, at the end."""
        rest = [(kind, window.count) for kind, window in self._windows.items()]
        self._windows.clear()
        self._kinds.clear()
        return rest
