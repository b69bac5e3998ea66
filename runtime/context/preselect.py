"""Preselect: of very many items, those that can win; what is passed over is only counted.

No text is cut, cleaned or tokenised for it. An item of a large section goes on if it must be in,
if its priority is raised, if it is among the newest, or if it is among those that hold most of the
question: each word of it counts ln(items / items that have it), wherever in the text it stands.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from .prompt import PassedOver
from .request import Item, Section

ABOVE: Final = 1_000  # items of a section; no more than that are all looked at
NEWEST: Final = 64
BEST: Final = 320


def preselect(
    items: Sequence[Item], question: Iterable[str]
) -> tuple[list[Item], tuple[PassedOver, ...]]:
    """The items to look at, in their order, and how many others there were by section."""
    if len(items) <= ABOVE:
        return list(items), ()
    by_section: dict[Section, list[int]] = {}
    for place, item in enumerate(items):
        by_section.setdefault(item.section, []).append(place)
    words = sorted(set(question))
    kept: list[int] = []
    passed: list[PassedOver] = []
    for section, places in by_section.items():
        chosen = _chosen(items, places, words) if len(places) > ABOVE else places
        kept += chosen
        if len(chosen) < len(places):
            passed.append(PassedOver(section, len(places) - len(chosen), REASON))
    return [items[place] for place in sorted(kept)], tuple(passed)


REASON: Final = (
    f"not among the {NEWEST} newest items of the section, nor among the {BEST} that hold most of "
    "what the step asks"
)


def _chosen(items: Sequence[Item], places: list[int], words: list[str]) -> list[int]:
    always = {at for at in places if items[at].must_include or items[at].priority > 0}
    always.update(places[-NEWEST:])
    texts = [items[at].text.lower() for at in places]
    worth: dict[int, float] = {}
    for word in words:
        having = [at for at, text in zip(places, texts, strict=True) if word in text]
        weight = math.log(len(places) / len(having)) if having else 0.0
        for at in having if weight > 0 else ():
            worth[at] = worth.get(at, 0.0) + weight
    for at in places:
        if items[at].score > 0:
            worth[at] = worth.get(at, 0.0) + items[at].score
    # Sums of the same numbers in the same order: the newer of two equals goes on.
    best = sorted(worth, key=lambda at: (-round(worth[at], 6), -at))[:BEST]
    return sorted(always.union(best))
