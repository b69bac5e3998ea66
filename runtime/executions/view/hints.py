"""The commands that continue an execution from its current state."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .. import EFFECT, GOAL
from .chosen import BREAKPOINT
from .items import ItemRow
from .summary import UNHELD, ExecutionDocument

if TYPE_CHECKING:
    from .debugging import DebugDocument  # which `execution list` gets along without


def hints_of(document: ExecutionDocument) -> list[str]:
    """Commands that take it from here."""
    waiting = document.items.waiting[:1] if document.items else []
    hints = [hint for first in waiting for hint in _of_item(document, first)]
    hints = hints or list(_of_execution(document))
    if document.prompt and not document.person:
        hints.append(_edited(document.id))
    if _is_at_breakpoint(document):
        hints.append(f"cortex debug {document.id}   (where it stands: prompt, gates, history)")
    if document.what_if:
        hints.append(_compared(document))
    return [*hints, f"cortex trace {document.id}"]


def debug_hints(document: "DebugDocument") -> list[str]:
    """Commands that continue from where an execution stands at a breakpoint."""
    waiting = document.items.waiting[:1] if document.items else []
    if waiting:
        return [
            f"cortex debug {waiting[0].execution}   (what is sent; so for each of the others)",
            f"cortex execution resume {document.id}   (sends what was not looked at, too)",
        ]
    if document.status not in ("paused", "halted") or document.question:
        return [f"cortex execution show {document.id}"]
    hints = list(_stepped(document.id))
    if document.prompt is not None and not document.prompt.turn:
        hints.append(_edited(document.id))
    return [*hints, f"cortex execution break {document.id} STEP   (--remove: no longer)"]


def _is_at_breakpoint(document: ExecutionDocument) -> bool:
    return (document.status, document.reason) == ("paused", BREAKPOINT)


def _edited(execution_id: str) -> str:
    return f"cortex execution edit {execution_id}   (changes what is sent)"


def _compared(document: ExecutionDocument) -> str:
    """Of a part, the what-if that it is a part of is compared."""
    what_if = document.parent or document.id
    return f"cortex what-if {what_if} --compare   (beside the recorded execution)"


def _stepped(execution_id: str) -> Iterator[str]:
    yield f"cortex execution resume {execution_id}"
    yield f"cortex execution resume {execution_id} --step   (pauses again before the next step)"


def is_at_goal(document: ExecutionDocument) -> bool:
    """Whether a person is asked what is done next towards a goal."""
    return document.status == "paused" and document.reason == GOAL


def _of_item(document: ExecutionDocument, first: ItemRow) -> Iterator[str]:
    """For the first of the items that wait."""
    if first.reason == EFFECT:
        yield _settled(first.execution)
    elif first.reason == GOAL:
        yield f"cortex execution do {first.execution} ACTION   (or finish)"
    elif first.reason == BREAKPOINT:
        several = document.items is not None and document.items.standing > 1
        more = "; so for each of the others" if several else ""
        yield f"cortex execution show {first.execution}   (what is sent; edit changes it{more})"
        yield f"cortex execution resume {document.id}   (sends what was not looked at, too)"
    elif first.question:
        yield _judged(first.execution)


def _of_execution(document: ExecutionDocument) -> Iterator[str]:
    resume = f"cortex execution resume {document.id}"
    if document.person:
        yield f"{resume} --answer TEXT   (or - for a pipe)"
    elif document.effects:
        yield _settled(document.id)
    elif is_at_goal(document):
        if document.may:
            takes = "(without ACTION: what each of them takes)"
            yield f"cortex execution do {document.id} ACTION -i NAME=VALUE   {takes}"
        yield f"cortex execution finish {document.id}   (or --give-up)"
    elif document.question:
        yield _judged(document.id)
    elif document.status == "halted" and len(document.steps) > 1:
        yield f"{resume}   (--from STEP goes back to a step)"
    elif _is_at_breakpoint(document):
        yield from _stepped(document.id)
    elif document.status in ("paused", "halted") or document.waiting == UNHELD:
        yield resume


def _settled(execution_id: str) -> str:
    return f"cortex execution resume {execution_id} --it-happened RESULT   (or --do-it-again)"


def _judged(execution_id: str) -> str:
    return f"cortex execution resume {execution_id} --approve   (or --deny)"
