"""Step handlers: each carries out one kind of action."""

from .analyze_failure import AnalyzeFailure
from .answer_question import AnswerQuestion
from .find_relevant_code import FindRelevantCode
from .read_ci_log import ReadCiLog
from .shell import Shell
from .text_files import TextFiles

__all__ = [
    "AnalyzeFailure",
    "AnswerQuestion",
    "FindRelevantCode",
    "ReadCiLog",
    "Shell",
    "TextFiles",
]
