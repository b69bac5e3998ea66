"""Condensed prose: published rules, and a checker that no fact is lost."""

from .blocks import prose_of, split, units
from .checker import Fact, facts, holds, missing
from .condensing import checked_draft, condense, is_english, is_foreign
from .drafts import lost, restored
from .extracting import extract, left_out, sentences_that_cover
from .participles import PARTICIPLES
from .rules import MARKUP, RULES, ProseRule, shorten
from .sentences import split as sentences
from .wordings import SHORT_FORMS

__all__ = [
    "MARKUP",
    "PARTICIPLES",
    "RULES",
    "SHORT_FORMS",
    "Fact",
    "ProseRule",
    "checked_draft",
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
    "sentences_that_cover",
    "shorten",
    "split",
    "units",
]
