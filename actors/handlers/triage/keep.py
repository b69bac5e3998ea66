"""Which lines of a long log stay in memory: all of a usual one, the telling parts of an endless."""

from array import array

from .loudness import Loudness

MAX_LINES = 300_000
MAX_CHARS = 40_000_000  # 40 MB of ASCII, 160 MB at worst
_LINES_BEFORE, _LINES_AFTER = 6, 24  # what a failure needs around it
_TAIL_LINES = 2_000  # the end tells how it ended
_HEAD_LINES = 200


class Keeper:
    """Numbered lines under a bound; when it is reached the least telling half goes."""

    def __init__(self, max_lines: int = MAX_LINES, max_chars: int = MAX_CHARS) -> None:
        self.numbers = array("Q")
        self.texts: list[str] = []
        self._strengths = array("f")  # of the lines that survived an earlier halving
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
        for text in self.texts[len(self._strengths) :]:
            self._strengths.append(self._loudness.hear(text)[0])
        kept = self._best_half()
        if len(kept) == len(self.texts):
            return False
        self.numbers = array("Q", (self.numbers[i] for i in kept))
        self.texts = [self.texts[i] for i in kept]
        self._strengths = array("f", (self._strengths[i] for i in kept))
        self._chars = sum(map(len, self.texts))
        return True

    def _best_half(self) -> list[int]:
        size = len(self.texts)
        line_budget, char_budget = self._max_lines // 2, self._max_chars // 2
        chosen: set[int] = set()
        for index in self._by_worth():
            for near in range(max(0, index - _LINES_BEFORE), min(size, index + _LINES_AFTER + 1)):
                if near not in chosen:
                    chosen.add(near)
                    char_budget -= len(self.texts[near])
            if len(chosen) >= line_budget or char_budget <= 0:
                break
        return sorted(chosen)

    def _by_worth(self) -> list[int]:
        size = len(self.texts)
        tail = min(_TAIL_LINES, self._max_lines // 20)
        head = min(_HEAD_LINES, self._max_lines // 20)
        worth = {
            i: self._strengths[i] * (0.2 + self._loudness.counts.rarity(self.texts[i]))
            for i in range(size)
            if self._strengths[i] > 0
        }
        ends = [*range(size - 1, size - 1 - tail, -1), *range(head)]
        return ends + sorted(worth, key=lambda i: (-worth[i], -i))
