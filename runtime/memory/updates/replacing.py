"""Finds the older statements that a newer one replaces, with a certainty, without a model."""

import math
from collections.abc import Sequence
from operator import mul
from typing import Final

from .comparing import FEATURES, Compared, compared, has_value, highest, in_common
from .reading import Reading, sentences
from .statements import LIKELY, Replacement, Statement

# Fitted by logistic regression on generated histories (benchmarks/changing_facts.py, the visible
# wordings), whose attributes were held out in turn; docs/memory.md has the figures.
BIAS: Final = -6.79
WEIGHTS: Final = Compared(
    shared=3.91,
    about=1.85,
    clear=2.53,
    left_new=-1.33,
    left_old=-1.29,
    conflict=-1.67,
    key_conflict=-0.7,
    value_is_key=-1.17,
    first=-1.38,
    elsewhere=-0.79,
    fit=3.86,
    named_fit=1.79,
    changes=0.46,
    late=0.19,
    named=2.67,
    former_unknown=-3.41,
    adds=-1.39,
)[:FEATURES]
LOOSE: Final = 0.9  # most certainty where small talk would read like a change
_MOST: Final = 4  # sentences of a statement that are compared with each of the other


def may_replace(text: str, least: float) -> bool:
    """Whether *text* can replace anything with at least this certainty; cheaper than to try."""
    return any(_may_replace(one, least) for one in sentences(text)[:_MOST])


def replaced(
    new: Statement, candidates: Sequence[Statement], least: float = LIKELY
) -> tuple[Replacement, ...]:
    """Those of *candidates* that *new* replaces with at least this certainty, the highest first.

    A statement is replaced if it is older and gives the same attribute of the same thing another
    value. Statements of two speakers in the first person are never about one thing.
    """
    found = []
    for old in candidates:
        if old.time_ns < new.time_ns and old.id != new.id:
            likely, features = _best(new, old, least)
            if features is not None and likely >= least:
                found.append(Replacement(old.id, likely, _reason(features)))
    found.sort(key=lambda one: (-one.certainty, one.old_id))
    return tuple(found)


def certainty(new: Statement, old: Statement) -> float:
    """From 0 to 1, that *new* replaces *old*, were it the newer one."""
    return _best(new, old)[0]


def _best(new: Statement, old: Statement, least: float = 0.0) -> tuple[float, Compared | None]:
    best: tuple[float, Compared | None] = 0.0, None
    two = new.speaker != old.speaker and bool(new.speaker and old.speaker)
    for one in sentences(new.text)[:_MOST]:
        if not _may_replace(one, least):
            continue
        for other in sentences(old.text)[:_MOST]:
            if two and (one.first_person or other.first_person):
                continue
            likely, features = likelihood(one, other, least)
            if likely > best[0]:
                best = likely, features
    return best


def likelihood(new: Reading, old: Reading, least: float = 0.0) -> tuple[float, Compared | None]:
    """The certainty for two sentences, and what it was computed from; 0 if it is below *least*."""
    common = in_common(new, old)
    if common is None or (least and _certainty(highest(new, old, common)) < least):
        return 0.0, None
    features = compared(new, old, common)
    likely = _certainty(features)
    return (likely, features) if likely >= least else (0.0, None)


def _may_replace(new: Reading, least: float) -> bool:
    # What announces nothing and has no value but common words is `is_loose` beside anything.
    return not new.unsure and (
        least <= LOOSE or bool(new.former) or new.announces or has_value(new)
    )


def _certainty(features: Compared) -> float:
    x = BIAS + sum(map(mul, WEIGHTS, features))
    certain = 1 / (1 + math.exp(-x))
    return round(min(certain, LOOSE) if features.is_loose else certain, 4)


def _reason(features: Compared) -> str:
    old, new = features.value
    if new:
        return f"about the same, it says {new!r} in place of {old!r}"
    return f"about the same, it says that {old!r} is no longer so"
