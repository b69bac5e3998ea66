"""Condensed prose: published rules, and a checker that lets no fact go."""

from .blocks import prose_of, split, units
from .checker import Fact, facts, holds, missing
from .condensing import condense
from .drafts import restored
from .rules import MARKUP, RULES, Rule, shorten

__all__ = [
    "MARKUP",
    "RULES",
    "Fact",
    "Rule",
    "condense",
    "facts",
    "holds",
    "missing",
    "prose_of",
    "restored",
    "shorten",
    "split",
    "units",
]
