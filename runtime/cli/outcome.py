"""The outcome of an execution, for people: its result, its contexts, and what to read next."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from cortex.runtime.executions import ITEMS
from cortex.runtime.executions.view import (
    BREAKPOINT,
    ExecutionDocument,
    ItemRow,
    chosen_line,
    context_line,
    dialogue_line,
    facts_of,
    failed_items,
    hints_of,
    is_at_goal,
    items_line,
    log_lines,
    named_values,
    review_of,
    scalars,
    taken_line,
    task_first,
    unedited_line,
)
from cortex.runtime.kernel import duration

from .screen import Screen

CONTEXTS = 3  # the newest of each step
PROMPT_LINES = 30  # of a prompt that `run` shows at a breakpoint
NO_MODEL = "no model was asked"
ADD_ONE = "the answer is quoted from the context; [models] in config.toml says which are asked"
_STYLES = {"completed": "bold green", "paused": "bold yellow", "running": "bold"}


def show_outcome(screen: Screen, document: ExecutionDocument) -> None:
    """Print how *document* ended and how to continue; as JSON, the document itself."""
    screen.document(document)
    if document.status == "completed":
        _show_result(screen, document)
    else:
        _show_stop(screen, document)
    _show_contexts(screen, document)
    _show_prompt(screen, document, PROMPT_LINES)
    screen.line()
    if document.status == "completed":
        screen.line("completed", _STYLES["completed"])
    if document.worktree:
        screen.paragraph(f"its worktree is {document.worktree}")
    screen.line(
        f"execution {document.id}  {document.process or 'ad-hoc work'}  "
        f"{duration(document.duration_s)}  {taken_line(document)}"
    )
    screen.lines(hints_of(document), "cyan")


def show_execution(screen: Screen, document: ExecutionDocument, *, past: bool = False) -> None:
    """Print the inputs, steps and result of *document*.

    Also how to continue, unless it shows the *past*.
    """
    screen.document(document)
    screen.line(f"execution {document.id}  {document.status}", _style_of(document))
    screen.facts(facts_of(document))
    _show_named(screen, "inputs", document.inputs)
    _show_items(screen, document)
    if document.steps:
        screen.line()
    _show_steps(screen, document)
    _show_next(screen, document)
    if document.outputs:
        screen.line()
    _show_named(screen, "outputs", document.outputs)
    _show_contexts(screen, document)
    _show_prompt(screen, document, None)
    if not past:
        screen.line()
        screen.lines(hints_of(document), "cyan")


def _show_prompt(screen: Screen, document: ExecutionDocument, most: int | None) -> None:
    """The prompt that a breakpoint is holding back."""
    lines = task_first(document.prompt) if document.person else document.prompt.splitlines()
    if not lines:
        return
    screen.line()
    if document.person:
        shape = f"the answer has to be {document.answer_shape}"
        screen.line(f"what {document.person} is asked, for step {document.step}; {shape}:")
    else:
        screen.line(f"the context that Cortex sends when step {document.step} continues:")
    screen.lines([f"  | {line}" for line in lines[:most]])
    if most is not None and len(lines) > most:
        screen.line(f"  | ... {len(lines) - most} more: cortex execution show {document.id}")
    unedited = document.contexts[-1].unedited if document.contexts else []
    if unedited and not document.person:
        screen.paragraph(f"it is {unedited_line(unedited)}", style="yellow")


def _show_result(screen: Screen, document: ExecutionDocument) -> None:
    if document.outputs:
        screen.lines(named_values(document.outputs))
    elif document.results:
        last = list(document.results)[-1]
        if summary := document.summaries.get(last):
            screen.line(f"{last}: {summary}")
        screen.lines(scalars(document.results[last], f"cortex execution show {document.id}"))


def _show_stop(screen: Screen, document: ExecutionDocument) -> None:
    told = f": {document.reason}" if document.reason else ""
    if document.reason == ITEMS:
        told = ": its items wait"
    elif document.reason == BREAKPOINT and document.step and not document.items:
        told = f": {BREAKPOINT} at step {document.step}"
    if document.person:
        told = f"{document.person} is asked for the answer of {document.step}"
        screen.line(f"waiting: {told}", _STYLES["paused"])
    elif is_at_goal(document):
        screen.line(f"waiting for you, towards the goal: {document.towards}", _STYLES["paused"])
    else:
        screen.line(f"{document.status}{told}", _style_of(document))
    _show_items(screen, document)
    if document.question:
        if review := review_of(document):
            screen.lines(review)
            screen.line()
        screen.paragraph(document.question, style="bold")
        if document.may:
            screen.paragraph(", ".join(document.may), lead="you may do  ")
    else:
        _show_steps(screen, document)
        _show_next(screen, document)


def _show_next(screen: Screen, document: ExecutionDocument) -> None:
    """What will run when it continues."""
    if document.next is None:
        return
    does = f"step {document.next.step} continues with {document.next.does}"
    screen.line()
    screen.line(f"{does}:" if document.next.parameters else does)
    screen.lines(named_values(document.next.parameters, "  "))


def _show_steps(screen: Screen, document: ExecutionDocument) -> None:
    widest = max(map(len, document.steps), default=0)
    chosen = {each.step: each for each in document.chosen}
    for step, status in document.steps.items():
        said = document.summaries.get(step, "")
        if step in chosen:
            said = chosen_line(chosen[step])
        line = f"  {status:<10} {step:<{widest}}  {said}".rstrip()
        screen.line(screen.cut(line, lines=2))
        _show_rows(screen, failed_items(document.results.get(step)), "    ")


def _show_items(screen: Screen, document: ExecutionDocument) -> None:
    """How far the step at hand has come with its items, and which of them need somebody."""
    items = document.items
    if items is None:
        return
    screen.line()
    screen.paragraph(items_line(items), lead=f"{items.step:<10} ")
    _show_rows(screen, (*items.failures, *items.waiting), "  ")


def _show_rows(screen: Screen, rows: Iterable[ItemRow], indent: str) -> None:
    for row in rows:
        told = f"{row.status}: {row.question or row.reason}"
        screen.line(screen.cut(f"{indent}{row.name}  {row.execution}  {told}", lines=2))


def _show_contexts(screen: Screen, document: ExecutionDocument) -> None:
    if document.contexts:
        screen.line()
    prompts = Counter(context.step for context in document.contexts)
    for context in document.contexts:
        prompts[context.step] -= 1
        if prompts[context.step] < CONTEXTS:
            screen.paragraph(context_line(context))
    quoted = [dialogue.step for dialogue in document.dialogues if dialogue.quoted]
    if quoted:
        screen.paragraph(f"{NO_MODEL} for {', '.join(quoted)}: {ADD_ONE}", style="yellow")
    for dialogue in document.dialogues:
        if dialogue.turns > 1 or dialogue.retries or dialogue.tools or dialogue.cost:
            screen.paragraph(dialogue_line(dialogue))
    screen.lines(log_lines(document))


def _show_named(screen: Screen, name: str, values: dict[str, Any]) -> None:
    if values:
        screen.line(name)
        screen.lines(named_values(values, "  "))


def _style_of(document: ExecutionDocument) -> str:
    return _STYLES.get(document.status, "bold red")
