"""ARC(c) line by line as in figure 4 of Megiddo and Modha, FAST '03; nothing of it is shared."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Any


class PaperArc:
    """The cache directory of the paper; a page is its own value."""

    def __init__(self, c: int) -> None:
        self.c = c
        self.p = 0.0
        self.t1: OrderedDict[Hashable, None] = OrderedDict()  # MRU last
        self.t2: OrderedDict[Hashable, None] = OrderedDict()
        self.b1: OrderedDict[Hashable, None] = OrderedDict()
        self.b2: OrderedDict[Hashable, None] = OrderedDict()

    def request(self, x: Hashable) -> bool:
        """Request the page *x*; whether it was a hit."""
        # Case I: a hit.
        if x in self.t1:
            del self.t1[x]
            self.t2[x] = None
            return True
        if x in self.t2:
            self.t2.move_to_end(x)
            return True
        # Case II.
        if x in self.b1:
            delta = 1.0 if len(self.b1) >= len(self.b2) else len(self.b2) / len(self.b1)
            self.p = min(self.p + delta, self.c)
            self._replace(x)
            del self.b1[x]
            self.t2[x] = None
            return False
        # Case III.
        if x in self.b2:
            delta = 1.0 if len(self.b2) >= len(self.b1) else len(self.b1) / len(self.b2)
            self.p = max(self.p - delta, 0.0)
            self._replace(x)
            del self.b2[x]
            self.t2[x] = None
            return False
        # Case IV.
        l1 = len(self.t1) + len(self.b1)
        total = l1 + len(self.t2) + len(self.b2)
        if l1 == self.c:
            if len(self.t1) < self.c:
                self.b1.popitem(last=False)
                self._replace(x)
            else:
                self.t1.popitem(last=False)
        elif total >= self.c:
            if total == 2 * self.c:
                self.b2.popitem(last=False)
            self._replace(x)
        self.t1[x] = None
        return False

    def hits(self, trace: Iterable[Hashable]) -> int:
        """How many of the requests in *trace* are hits."""
        return sum(map(self.request, trace))

    def lists(self) -> tuple[list[Any], ...]:
        """T1, T2, B1 and B2, LRU first."""
        return list(self.t1), list(self.t2), list(self.b1), list(self.b2)

    def _replace(self, x: Hashable) -> None:
        size = len(self.t1)
        if size >= 1 and ((x in self.b2 and size == self.p) or size > self.p):
            page, _ = self.t1.popitem(last=False)
            self.b1[page] = None
        else:
            page, _ = self.t2.popitem(last=False)
            self.b2[page] = None
