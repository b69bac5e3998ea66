"""Step handlers: each carries out one kind of action."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .analyze_failure import AnalyzeFailure, AnswerQuestion
    from .commit_and_push import CommitAndPush
    from .find_relevant_code import FindRelevantCode
    from .read_ci_log import ReadCiLog
    from .reword_summary import RewordSummary
    from .run_tests import RunTests
    from .send_notification import SendNotification
    from .shell import Shell
    from .text_files import TextFiles
    from .write_code import WriteCode

__all__ = [
    "AnalyzeFailure",
    "AnswerQuestion",
    "CommitAndPush",
    "FindRelevantCode",
    "ReadCiLog",
    "RewordSummary",
    "RunTests",
    "SendNotification",
    "Shell",
    "TextFiles",
    "WriteCode",
]

lazily(__name__)
