"""Material of a prompt: sanitised, deduplicated, cut into scored chunks, sized, chosen."""

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from cortex.runtime.retrieval import Chunk, Remembered, near_duplicates

from .prompt import Form, Neutralised
from .request import Item
from .sanitise import look_alikes, sanitise

Run: TypeAlias = tuple[int, int]  # lines of an item, from 0, end excluded
UNCOUNTED: Final = -1
CHARS_A_TOKEN: Final = 4  # estimate for uncounted texts


class Clean(NamedTuple):
    """An item with its sanitised text."""

    item: Item
    text: str
    neutralised: tuple[Neutralised, ...]
    form: Form = ""  # of the text, if it is not the original
    saved: int = 0  # tokens that the form saves


class Left(NamedTuple):
    """An item that is not in the prompt, and why."""

    item: Item
    reason: str
    neutralised: tuple[Neutralised, ...] = ()
    whole_tokens: int = 0
    score: float = 0.0


def clean(items: list[Item]) -> tuple[list[Clean], list[Left]]:
    """Sanitise every text, and mark text that reads like an order; omits items without text."""
    kept: list[Clean] = []
    left: list[Left] = []
    for item in items:
        text, neutralised = clean_text(item.text, untrusted=item.trust == "untrusted")
        if text.strip():
            kept.append(Clean(item, text, neutralised))
        else:
            left.append(Left(item, "empty", neutralised))
    return kept, left


def clean_text(text: str, *, untrusted: bool) -> tuple[str, tuple[Neutralised, ...]]:
    """*text* sanitised, and what was found; in *untrusted* text also what reads like an order."""
    harmless, neutralised, orders = _cleaned(text)
    return harmless, (*neutralised, *(orders if untrusted else ()))


def _clean(text: str) -> tuple[str, tuple[Neutralised, ...], tuple[Neutralised, ...]]:
    harmless, neutralised = sanitise(text)
    return harmless, neutralised, look_alikes(harmless)


_cleaned = Remembered(_clean)


def deduplicate(items: list[Clean]) -> tuple[list[Clean], list[Left]]:
    """Keep one of several items with equal or nearly equal words; required ones come first.

    Required items are never left out, even if two are equal. Of near duplicates the
    later one is left out, unless it has a number or negation that the earlier one lacks.
    """
    first: dict[str, str] = {}
    ordered = sorted(items, key=lambda entry: not entry.item.must_include)
    prints = {entry.item.id: _fingerprint(entry.text) for entry in items}
    for entry in ordered:
        first.setdefault(prints[entry.item.id], entry.item.id)
    near = near_duplicates([entry.text for entry in ordered])
    alike = {ordered[at].item.id: ordered[twin].item.id for at, twin in near.items()}
    kept: list[Clean] = []
    left: list[Left] = []
    for entry in items:
        twin = first[prints[entry.item.id]]
        if entry.item.must_include:
            kept.append(entry)
        elif twin != entry.item.id:
            left.append(Left(entry.item, f"same text as {twin}", entry.neutralised))
        elif entry.item.id in alike:
            reason = f"nearly the same text as {alike[entry.item.id]}"
            left.append(Left(entry.item, reason, entry.neutralised))
        else:
            kept.append(entry)
    return kept, left


def _digest_of_words(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


# Equal for texts that differ only in white space.
_fingerprint = Remembered(_digest_of_words)


class Worth(NamedTuple):
    """The parts of the score of an item's best chunk."""

    retrieved: float
    relevance: float
    linked: float
    recency: float
    density: float


class Ranked(NamedTuple):
    """An item cut into chunks, each with its score."""

    item: Item
    lines: Sequence[str]
    numbers: Sequence[int]  # line numbers in the source
    chunks: tuple[Chunk, ...]
    scores: tuple[float, ...]  # one per chunk
    neutralised: tuple[Neutralised, ...]
    form: Form = ""
    saved: int = 0  # tokens that its form saves
    worth: Worth | None = None

    @property
    def score(self) -> float:
        """The score of the best chunk."""
        return max(self.scores)


def all_lines(ranked: Ranked) -> tuple[Run, ...]:
    """The single run of the whole item."""
    return ((0, len(ranked.lines)),)


class Sized(NamedTuple):
    """A ranked item and its size in tokens."""

    ranked: Ranked
    fence_tokens: int
    text_tokens: int  # UNCOUNTED if it is far too long to fit whole
    fence: tuple[str, str]  # the lines around it

    @property
    def whole_tokens(self) -> int:
        """Tokens of the whole item with its fence; an estimate if it was not counted."""
        if self.text_tokens == UNCOUNTED:
            return self.fence_tokens + chars_of(self.ranked) // CHARS_A_TOKEN
        return self.fence_tokens + self.text_tokens

    @property
    def counted(self) -> int:
        """Tokens of its text; 0 if they were not counted."""
        return max(self.text_tokens, 0)


class Choice(NamedTuple):
    """An included item, with its included lines: all, or runs of (start, end)."""

    sized: Sized
    runs: tuple[Run, ...]
    reason: str
    cut: bool = False  # its text is a part of a longer one

    @property
    def ranked(self) -> Ranked:
        """The ranked item."""
        return self.sized.ranked

    @property
    def whole(self) -> bool:
        """Whether nothing was cut."""
        return not self.cut and self.runs == all_lines(self.ranked)


def chars_of(ranked: Ranked) -> int:
    """Characters of an item's text."""
    return sum(map(len, ranked.lines)) + len(ranked.lines)
