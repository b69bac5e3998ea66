"""What failed in a CI log: read it, report it, condense it; pure but for the reading."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .blocks import Reference
    from .condense import GAP, Excerpt, condense, excerpt
    from .findings import Analysis, analyse
    from .reader import Log, LogBinaryError, LogError, LogUnreadableError, parse_log, read_log
    from .report import Evidence, Finding, Report, report_of, triage
    from .signals import STRENGTH_MAX, strength
    from .templates import TemplateCounts, template
else:
    lazily(__name__)

__all__ = [
    "GAP",
    "STRENGTH_MAX",
    "Analysis",
    "Evidence",
    "Excerpt",
    "Finding",
    "Log",
    "LogBinaryError",
    "LogError",
    "LogUnreadableError",
    "Reference",
    "Report",
    "TemplateCounts",
    "analyse",
    "condense",
    "excerpt",
    "parse_log",
    "read_log",
    "report_of",
    "strength",
    "template",
    "triage",
]
