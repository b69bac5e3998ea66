"""Executions as lines: contexts, dialogues, choices, and results before an answer."""

from collections.abc import Iterator
from typing import Any

from cortex.runtime.kernel import many
from cortex.runtime.models import dollars

from .chosen import Chosen
from .results import bounded, brief_value, readable
from .summary import CompiledContext, Dialogue, ExecutionDocument

REVIEW_LINES = 30  # of results, before a person is asked about them
LEAST_LINES = 3  # of each step among them


def context_line(context: CompiledContext) -> str:
    """A compiled context in a line: tokens by section, and the bound they had to keep."""
    sections = ", ".join(
        f"{name} {tokens:,}" for name, tokens in context.sections.items() if tokens
    )
    return (
        f"context of {context.step}: {many(context.tokens, 'token')} ({sections}), "
        f"window {context.window:,}, model {context.model}"
    )


def dialogue_line(dialogue: Dialogue) -> str:
    """What passed between a step and its models in a line."""
    parts = [many(dialogue.turns, "turn")]
    if dialogue.retries:
        parts.append(f"{many(dialogue.calls, 'call')} ({dialogue.retries} to ask again)")
    if dialogue.tools:
        used = ", ".join(f"{name} {count}" for name, count in dialogue.tools.items())
        failed = f", {dialogue.tools_failed} failed" if dialogue.tools_failed else ""
        parts.append(f"tools {used}{failed}")
    parts.append(dollars(dialogue.cost))
    return f"models of {dialogue.step}: {', '.join(dialogue.models)}; {'; '.join(parts)}"


def chosen_line(chosen: Chosen) -> str:
    """An action that was chosen towards a goal, with its parameters and outcome."""
    given = " ".join(f"{name}={brief_value(value)}" for name, value in chosen.parameters.items())
    told = f": {chosen.said}" if chosen.said else ""
    return f"{chosen.action} {given}".rstrip() + told


def review_of(document: ExecutionDocument) -> list[str]:
    """The results of the steps since the last question, for the person who is asked next."""
    steps = document.unreviewed
    if document.may:  # of what is done towards a goal the last is news
        steps = steps[-1:]
        if document.chosen and [document.chosen[-1].step] != steps:
            steps = []  # it failed, which was shown; earlier steps are no news
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
    # At a breakpoint the newest context still waits.
    told = [each for each in document.contexts if each.sent]
    sent = sum(each.tokens for each in (document.contexts[-1:] if document.prompt else told))
    for result in document.results.values():
        read = _log_tokens(result)
        if 0 < sent < read:
            how = "would be sent" if document.prompt else "were sent"
            yield f"the log has {many(read, 'token')}; {sent:,} {how} ({100 * sent / read:.1f} %)"


def _log_tokens(result: Any) -> int:
    """How large the log is that a step read; 0 where it read none."""
    if not (isinstance(result, dict) and "log" in result and "excerpt" in result):
        return 0
    tokens = result.get("tokens")
    return tokens if isinstance(tokens, int) else 0
