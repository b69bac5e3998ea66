"""The prompts of a home, read from its log: what went in, what stayed out, and what changed."""

from .compared import ItemChange, OwnChange, PromptDiff, diff_of
from .costs import sections_cost
from .following import Following
from .health import Health, SectionHealth, health_lines, health_of
from .picture import Picture
from .rebuilt import rebuilt_document
from .recorded import (
    Compiled,
    PromptDocument,
    PromptRow,
    document_of,
    find_prompt,
    newest_prompts,
    prompts_of_one,
    row_of,
)
from .statistics import PromptStats, SectionStats, SourceStats, stats_of
from .telling import counting_of, digest_shown, show_diff, show_manifest, show_stats
from .why import LineFate, WhyRow, why_of

__all__ = [
    "Compiled",
    "Following",
    "Health",
    "ItemChange",
    "LineFate",
    "OwnChange",
    "Picture",
    "PromptDiff",
    "PromptDocument",
    "PromptRow",
    "PromptStats",
    "SectionHealth",
    "SectionStats",
    "SourceStats",
    "WhyRow",
    "counting_of",
    "diff_of",
    "digest_shown",
    "document_of",
    "find_prompt",
    "health_lines",
    "health_of",
    "newest_prompts",
    "prompts_of_one",
    "rebuilt_document",
    "row_of",
    "sections_cost",
    "show_diff",
    "show_manifest",
    "show_stats",
    "stats_of",
    "why_of",
]
