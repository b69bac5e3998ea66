"""Material of a prompt: sanitised, each text once, then cut into chunks with their scores."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from cortex.runtime.retrieval import Chunk, Remembered, near_duplicates

from ..prompt import Form, Neutralised
from ..request import Item
from .sanitise import look_alikes, sanitise


class Clean(NamedTuple):
    """An item with its text made harmless."""

    item: Item
    text: str
    neutralised: tuple[Neutralised, ...]
    form: Form = ""  # in which the text stands, where that is not its own
    saved: int = 0  # tokens that it takes less so


class Left(NamedTuple):
    """An item that is not in the prompt, and why."""

    item: Item
    reason: str
    neutralised: tuple[Neutralised, ...] = ()
    whole_tokens: int = 0
    score: float = 0.0


def clean(items: list[Item]) -> tuple[list[Clean], list[Left]]:
    """Sanitise every text, and mark what reads like an order; an item without text is left out."""
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
    """*text* made harmless, and what was found: in *untrusted* text, what reads like an order."""
    harmless, neutralised, orders = _cleaned(text)
    return harmless, (*neutralised, *(orders if untrusted else ()))


def _clean(text: str) -> tuple[str, tuple[Neutralised, ...], tuple[Neutralised, ...]]:
    harmless, neutralised = sanitise(text)
    return harmless, neutralised, look_alikes(harmless)


_cleaned = Remembered(_clean)


def deduplicate(items: list[Clean]) -> tuple[list[Clean], list[Left]]:
    """Keep one of several items with the same words, or nearly the same: what must be in first.

    What must be in is never left out, even where two such items are equal. Of near duplicates the
    later goes, and only if it has no number and no negation that the earlier one lacks.
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


# Equal for texts that differ in white space alone.
_fingerprint = Remembered(_digest_of_words)


class Worth(NamedTuple):
    """What the score of an item's best chunk is made of."""

    retrieved: float
    relevance: float
    linked: float
    recency: float
    density: float


class Ranked(NamedTuple):
    """An item cut into chunks, each with its score."""

    item: Item
    lines: list[str]
    numbers: Sequence[int]  # of the lines, in the source
    chunks: tuple[Chunk, ...]
    scores: tuple[float, ...]  # one a chunk
    neutralised: tuple[Neutralised, ...]
    form: Form = ""
    saved: int = 0  # tokens that its form takes less than its own text
    worth: Worth | None = None

    @property
    def score(self) -> float:
        """The score of the best chunk."""
        return max(self.scores)
