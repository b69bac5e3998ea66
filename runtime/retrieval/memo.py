"""Remember what was made of a text, up to so many characters of texts."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

Made = TypeVar("Made")

CHARS: Final = 6_000_000  # of the texts that one function remembers


class Remembered(Generic[Made]):
    """A pure function of a text that is asked again and again; the oldest answers are forgotten."""

    def __init__(self, make: Callable[[str], Made], chars: int = CHARS) -> None:
        self._make = make
        self._free = chars
        self._most = chars // 8  # a longer text would drive out too many others
        self._known: OrderedDict[str, Made] = OrderedDict()
        self._lock = Lock()

    def __call__(self, text: str) -> Made:
        """What is made of *text*."""
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
                return self._known[text]
        made = self._make(text)
        if len(text) <= self._most:
            with self._lock:
                self._keep(text, made)
        return made

    def _keep(self, text: str, made: Made) -> None:
        if text in self._known:
            return
        self._known[text] = made
        self._free -= len(text)
        while self._free < 0:
            oldest, _ = self._known.popitem(last=False)
            self._free += len(oldest)
