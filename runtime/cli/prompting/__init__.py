"""The prompts of a home, read from its log: what went in, what stayed out, and what changed."""

from .compared import ItemChange, PromptDiff, diff_of
from .health import Health, health_of
from .recorded import (
    Compiled,
    PromptDocument,
    PromptRow,
    document_of,
    find_prompt,
    newest_prompts,
    row_of,
)
from .statistics import PromptStats, SectionStats, SourceStats, stats_of
from .why import WhyRow, why_of

__all__ = [
    "Compiled",
    "Health",
    "ItemChange",
    "PromptDiff",
    "PromptDocument",
    "PromptRow",
    "PromptStats",
    "SectionStats",
    "SourceStats",
    "WhyRow",
    "diff_of",
    "document_of",
    "find_prompt",
    "health_of",
    "newest_prompts",
    "row_of",
    "stats_of",
    "why_of",
]
