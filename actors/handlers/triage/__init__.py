"""What failed in a CI log: read it, report it, condense it; pure but for the reading."""

from .blocks import Reference
from .condense import condense
from .errors import LogBinaryError, LogError, LogUnreadableError
from .reader import Log, parse_log, read_log
from .report import Evidence, Finding, Report, triage

__all__ = [
    "Evidence",
    "Finding",
    "Log",
    "LogBinaryError",
    "LogError",
    "LogUnreadableError",
    "Reference",
    "Report",
    "condense",
    "parse_log",
    "read_log",
    "triage",
]
