"""What a person needs to know before an answer, beside the results; and notes about logs."""

from collections.abc import Iterator
from typing import Any

from cortex.runtime.kernel import many

from .results import bounded, readable
from .summary import ExecutionDocument

REVIEW_LINES = 30  # of results, before a person is asked about them
LEAST_LINES = 3  # of each step among them


def review_of(document: ExecutionDocument) -> list[str]:
    """What the steps since the last question gave, for whoever is asked the next one."""
    steps = document.unreviewed
    if document.may:  # of what is done towards a goal the last is news
        steps = steps[-1:]
        if document.chosen and [document.chosen[-1].step] != steps:
            steps = []  # it failed, which was told; what went before it is no news
    most = max(LEAST_LINES, REVIEW_LINES // max(1, len(steps)) - 1)
    lines: list[str] = []
    for step in steps:
        summary = document.summaries.get(step, "")
        lines.append(f"{step}: {summary}" if summary else step)
        said = list(readable(document.results.get(step, {}), "  "))
        lines += bounded(said, most, f"cortex trace {document.id} --full")
    return bounded(lines, REVIEW_LINES, f"cortex trace {document.id} --full")


def log_lines(document: ExecutionDocument) -> Iterator[str]:
    """How much of a log that a step read was sent to a model, where that is less than all of it."""
    sent = sum(context.tokens for context in document.contexts)
    for result in document.results.values():
        read = _log_tokens(result)
        if 0 < sent < read:
            # At a breakpoint the newest context still waits.
            told = "would be sent" if document.prompt else "were sent"
            yield f"the log has {many(read, 'token')}; {sent:,} {told} ({100 * sent / read:.1f} %)"


def _log_tokens(result: Any) -> int:
    """How large the log is that a step read; 0 where it read none."""
    if not (isinstance(result, dict) and "log" in result and "excerpt" in result):
        return 0
    tokens = result.get("tokens")
    return tokens if isinstance(tokens, int) else 0
