"""Condensed prose: published rules, and a checker that no fact is lost."""

from .blocks import prose_of, split, units
from .checker import Fact, facts, holds, missing
from .condensing import condense, is_english, is_foreign
from .drafts import lost, restored
from .extracting import extract, left_out
from .rules import MARKUP, RULES, ProseRule, shorten
from .sentences import split as sentences
from .wordings import PARTICIPLES, SHORT_FORMS

__all__ = [
    "MARKUP",
    "PARTICIPLES",
    "RULES",
    "SHORT_FORMS",
    "Fact",
    "ProseRule",
    "condense",
    "extract",
    "facts",
    "holds",
    "is_english",
    "is_foreign",
    "left_out",
    "lost",
    "missing",
    "prose_of",
    "restored",
    "sentences",
    "shorten",
    "split",
    "units",
]
