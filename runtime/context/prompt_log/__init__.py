"""The prompts of a home, read from its log: what is in them, what was left out, what changed."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .compared import ItemChange, OwnChange, PromptDiff, diff_of
    from .costs import sections_cost
    from .health import Health, SectionHealth, health_lines, health_of
    from .rebuilt import rebuilt_document
    from .recorded import (
        SHOWN,
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
    from .why import LineFate, WhyRow, why_of
else:
    lazily(__name__)

__all__ = [
    "SHOWN",
    "Compiled",
    "Health",
    "ItemChange",
    "LineFate",
    "OwnChange",
    "PromptDiff",
    "PromptDocument",
    "PromptRow",
    "PromptStats",
    "SectionHealth",
    "SectionStats",
    "SourceStats",
    "WhyRow",
    "diff_of",
    "document_of",
    "find_prompt",
    "health_lines",
    "health_of",
    "newest_prompts",
    "prompts_of_one",
    "rebuilt_document",
    "row_of",
    "sections_cost",
    "stats_of",
    "why_of",
]
