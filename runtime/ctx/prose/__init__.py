"""Condensed prose: published rules, and a checker that lets no fact go."""

from .blocks import prose_of, split, units
from .checker import Fact, facts, holds, missing
from .comparing import lost
from .condensing import condense, is_english, is_foreign
from .drafts import restored
from .rules import MARKUP, RULES, ProseRule, shorten
from .wordings import PARTICIPLES, SHORT_FORMS

__all__ = [
    "MARKUP",
    "PARTICIPLES",
    "RULES",
    "SHORT_FORMS",
    "Fact",
    "ProseRule",
    "condense",
    "facts",
    "holds",
    "is_english",
    "is_foreign",
    "lost",
    "missing",
    "prose_of",
    "restored",
    "shorten",
    "split",
    "units",
]
