"""What came of an execution, for people: the result, the contexts, and where to read on."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from cortex.runtime.executions import EFFECT, GOAL, ITEMS
from cortex.runtime.executions.view import (
    BREAKPOINT,
    UNHELD,
    Chosen,
    CompiledContext,
    Dialogue,
    ExecutionDocument,
    GivenAnswer,
    ItemRow,
    brief_value,
    edit_line,
    failed_items,
    items_line,
    log_lines,
    named_values,
    review_of,
    scalars,
    task_first,
    unedited_line,
)
from cortex.runtime.kernel import duration, local, many, parse_time
from cortex.runtime.models import dollars

from .screen import Screen

CONTEXTS = 3  # the newest of each step
PROMPT_LINES = 30  # of a prompt that `run` shows at a breakpoint
NO_MODEL = "no model was asked"
ADD_ONE = "the answer is quoted from the context; [models] in config.toml says which are asked"
# What a person said to a gate, or about an effect of unknown outcome.
_SAID = {
    "approved": "approved",
    "denied": "denied",
    "happened": "that it happened",
    "again": "to do it again",
}
_STYLES = {"completed": "bold green", "paused": "bold yellow", "running": "bold"}


def show_outcome(screen: Screen, document: ExecutionDocument) -> None:
    """Print how *document* ended and how to go on; as JSON, the document itself."""
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
        screen.paragraph(f"its work tree is {document.worktree}")
    screen.line(
        f"execution {document.id}  {document.process or 'ad-hoc work'}  "
        f"{duration(document.duration_s)}  {_taken(document)}"
    )
    _show_hints(screen, document)


def show_execution(screen: Screen, document: ExecutionDocument) -> None:
    """Print what *document* was given, how its steps went and what came of it."""
    screen.document(document)
    screen.line(f"execution {document.id}  {document.status}", _style_of(document))
    for name, value in _facts(document):
        screen.paragraph(value, lead=f"{name:<10} ")
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
    screen.line()
    _show_hints(screen, document)


def hints_of(document: ExecutionDocument) -> list[str]:
    """Commands that take it from here."""
    hints = []
    first = document.items.waiting[:1] if document.items else []
    if first and first[0].reason == EFFECT:
        happened = f"cortex execution resume {first[0].execution} --it-happened RESULT"
        hints.append(f"{happened}   (or --do-it-again)")
    elif first and first[0].reason == GOAL:
        hints.append(f"cortex execution do {first[0].execution} ACTION   (or finish)")
    elif first and first[0].reason == BREAKPOINT:
        shown = f"cortex execution show {first[0].execution}"
        more = (
            "; so for each of the others" if document.items and document.items.standing > 1 else ""
        )
        hints.append(f"{shown}   (what is sent; edit changes it{more})")
        hints.append(f"cortex execution resume {document.id}   (sends what was not looked at, too)")
    elif first and first[0].question:
        hints.append(f"cortex execution resume {first[0].execution} --approve   (or --deny)")
    elif document.person:
        hints.append(f"cortex execution resume {document.id} --answer TEXT   (or - for a pipe)")
    elif document.effects:
        happened = f"cortex execution resume {document.id} --it-happened RESULT"
        hints.append(f"{happened}   (or --do-it-again)")
    elif is_at_goal(document):
        if document.may:
            takes = "(without ACTION: what each of them takes)"
            hints.append(f"cortex execution do {document.id} ACTION -i NAME=VALUE   {takes}")
        hints.append(f"cortex execution finish {document.id}   (or --give-up)")
    elif document.question:
        hints.append(f"cortex execution resume {document.id} --approve   (or --deny)")
    elif document.status == "halted" and len(document.steps) > 1:
        hints.append(f"cortex execution resume {document.id}   (--from STEP goes back to a step)")
    elif document.status in ("paused", "halted") or document.waiting == UNHELD:
        hints.append(f"cortex execution resume {document.id}")
    if document.prompt and not document.person:
        hints.append(f"cortex execution edit {document.id}   (changes what is sent)")
    return [*hints, f"cortex trace {document.id}"]


def is_at_goal(document: ExecutionDocument) -> bool:
    """Whether a person is asked what is done next towards a goal."""
    return document.status == "paused" and document.reason == GOAL


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


def _show_prompt(screen: Screen, document: ExecutionDocument, most: int | None) -> None:
    """What would be sent, where a breakpoint stands before it."""
    lines = task_first(document.prompt) if document.person else document.prompt.splitlines()
    if not lines:
        return
    screen.line()
    if document.person:
        shape = f"the answer has to be {document.answer_shape}"
        screen.line(f"what {document.person} is asked, for step {document.step}; {shape}:")
    else:
        screen.line(f"the context that Cortex sends when step {document.step} continues:")
    _show_lines(screen, [f"  | {line}" for line in lines[:most]])
    if most is not None and len(lines) > most:
        screen.line(f"  | ... {len(lines) - most} more: cortex execution show {document.id}")
    unedited = document.contexts[-1].unedited if document.contexts else []
    if unedited and not document.person:
        screen.paragraph(f"it is {unedited_line(unedited)}", style="yellow")


def _show_result(screen: Screen, document: ExecutionDocument) -> None:
    if document.outputs:
        _show_lines(screen, named_values(document.outputs))
    elif document.results:
        last = list(document.results)[-1]
        if summary := document.summaries.get(last):
            screen.line(f"{last}: {summary}")
        _show_lines(screen, scalars(document.results[last], f"cortex execution show {document.id}"))


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
            _show_lines(screen, iter(review))
            screen.line()
        screen.paragraph(document.question, style="bold")
        if document.may:
            screen.paragraph(", ".join(document.may), lead="you may do  ")
    else:
        _show_steps(screen, document)
        _show_next(screen, document)


def _show_next(screen: Screen, document: ExecutionDocument) -> None:
    """What is done once it goes on."""
    if document.next is None:
        return
    does = f"step {document.next.step} continues with {document.next.does}"
    screen.line()
    screen.line(f"{does}:" if document.next.parameters else does)
    _show_lines(screen, named_values(document.next.parameters, "  "))


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


def chosen_line(chosen: Chosen) -> str:
    """Something that was chosen towards a goal, with its parameters and what came of it."""
    given = " ".join(f"{name}={brief_value(value)}" for name, value in chosen.parameters.items())
    told = f": {chosen.said}" if chosen.said else ""
    return f"{chosen.action} {given}".rstrip() + told


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
    _show_lines(screen, log_lines(document))


def _show_hints(screen: Screen, document: ExecutionDocument) -> None:
    for hint in hints_of(document):
        screen.line(hint, "cyan")


def _show_named(screen: Screen, name: str, values: dict[str, Any]) -> None:
    if values:
        screen.line(name)
        _show_lines(screen, named_values(values, "  "))


def _show_lines(screen: Screen, lines: Iterable[str]) -> None:
    for line in lines:
        screen.line(line)


def _facts(document: ExecutionDocument) -> Iterator[tuple[str, str]]:
    version = f" version {document.version}" if document.version else ""
    requested = local(parse_time(document.requested, 0))
    yield "process", f"{document.process or 'ad-hoc work'}{version}"
    for name, value in (
        ("goal", document.goal),
        ("workspace", document.workspace),
        ("work tree", document.worktree),
        ("at work", document.step if document.status == "running" and not document.waiting else ""),
        ("reason", document.reason),
        ("waiting", _waiting(document)),
        ("asks", document.question),
        ("may do", ", ".join(document.may)),
        ("verdict", document.verdict),
        ("asked by", document.requested_by),
    ):
        if value:
            yield name, value
    for given in document.answers:
        note = f": {given.note}" if given.note else ""
        yield "answered", f"{_answer(given)} by {given.by}{note}"
    for edit in document.edits:
        yield "changed", edit_line(edit)
    took = f"took {duration(document.duration_s)}, {_taken(document)}"
    yield "requested", f"{requested}, {took}"


def _waiting(document: ExecutionDocument) -> str:
    at = f"{document.step}: " if document.step else ""
    return f"{at}{document.waiting}" if document.waiting else ""


def _answer(given: GivenAnswer) -> str:
    said = _SAID.get(given.answer, "in a model's place")
    void = "" if given.counted else ", which the gate does not take,"
    return f"{said} at {given.step}{void}" if given.step else f"{said}{void}"


def _taken(document: ExecutionDocument) -> str:
    most = "" if document.max_cost is None else f" of {dollars(document.max_cost)}"
    cost = f", {dollars(document.cost)}{most}" if document.cost or most else ""
    return f"{many(document.tokens, 'token')}{cost}"


def _style_of(document: ExecutionDocument) -> str:
    return _STYLES.get(document.status, "bold red")
