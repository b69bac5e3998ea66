"""Which lines of a long log stay in memory: all of a usual one, the telling parts of an endless."""

from array import array
from collections import Counter
from itertools import compress

from .templates import Loudness

MAX_LINES = 200_000
MAX_CHARS = 40_000_000  # 40 MB of ASCII, 160 MB at worst
_LINES_BEFORE, _LINES_AFTER = 6, 24  # what a failure needs around it
_TAIL_LINES = 2_000  # the end tells how it ended
_HEAD_LINES = 200


class BoundedLines:
    """Numbered lines under a bound; when it is reached the least telling half goes."""

    def __init__(self, max_lines: int = MAX_LINES, max_chars: int = MAX_CHARS) -> None:
        self.numbers = array("Q")
        self.texts: list[str] = []
        self._worth = array("f")  # of the lines that survived an earlier halving
        self._loudness = Loudness()
        self._chars = 0
        self._max_lines, self._max_chars = max_lines, max_chars

    def add(self, first_number: int, texts: list[str]) -> None:
        """Append *texts*, the lines from *first_number* on."""
        self.numbers.extend(range(first_number, first_number + len(texts)))
        self.texts.extend(texts)
        self._chars += sum(map(len, texts))
        while len(self.texts) > self._max_lines or self._chars > self._max_chars:
            if not self._halve():
                break

    def _halve(self) -> bool:
        self._judge(self.texts[len(self._worth) :])
        kept = self._best_half()
        if len(kept) == len(self.texts):
            return False
        self.numbers = array("Q", map(self.numbers.__getitem__, kept))
        self.texts = list(map(self.texts.__getitem__, kept))
        self._worth = array("f", map(self._worth.__getitem__, kept))
        self._chars = sum(map(len, self.texts))
        return True

    def _judge(self, texts: list[str]) -> None:
        """Note how loud and rare each of *texts* is; equal ones are listened to once."""
        heard = {text: self._loudness.hear(text, times) for text, times in Counter(texts).items()}
        rarity = self._loudness.counts.shape_rarity
        worth = {
            text: loud * (0.2 + rarity(shape)) if loud else 0.0
            for text, (loud, shape) in heard.items()
        }
        self._worth.extend(map(worth.__getitem__, texts))

    def _best_half(self) -> list[int]:
        size = len(self.texts)
        line_budget, char_budget = self._max_lines // 2, self._max_chars // 2
        chosen = bytearray(size)
        for index in self._by_worth():
            end = min(size, index + _LINES_AFTER + 1)
            near = chosen.find(0, max(0, index - _LINES_BEFORE), end)
            while near >= 0:
                chosen[near] = 1
                line_budget -= 1
                char_budget -= len(self.texts[near])
                near = chosen.find(0, near + 1, end)
            if line_budget <= 0 or char_budget <= 0:
                break
        return list(compress(range(size), chosen))

    def _by_worth(self) -> list[int]:
        size = len(self.texts)
        tail = min(_TAIL_LINES, self._max_lines // 20)
        head = min(_HEAD_LINES, self._max_lines // 20)
        spoken = list(compress(range(size), self._worth))
        spoken.reverse()  # of equals the last
        spoken.sort(key=self._worth.__getitem__, reverse=True)
        return [*range(size - 1, size - 1 - tail, -1), *range(head), *spoken]
