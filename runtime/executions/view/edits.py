"""Changes that people made to an execution: inputs, bounds, prompts and results."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from cortex.bus import Event, Recorded
from cortex.bus.events import (
    ContextEdited,
    ExecutionBreakpointsChanged,
    ExecutionEdited,
    ExecutionStarted,
    StepSettled,
)
from cortex.runtime.kernel import iso

from .. import is_own
from .results import brief_value

Change: TypeAlias = ExecutionEdited | ExecutionBreakpointsChanged | ContextEdited | StepSettled


class PersonEdit(msgspec.Struct, kw_only=True):
    """One change."""

    by: str  # the client, as the hub authenticated it; "owner" for the owner of the home
    note: str  # why
    at: str  # UTC
    # "inputs", "max_cost" (either may come with the other), "breakpoints", "context", "skipped" or
    # "result"
    what: list[str]
    step: str = ""  # of a context, a skip or a result
    changed: dict[str, Any] = {}  # inputs as they are now, the bound, breakpoints, or the result
    texts: list[dict[str, str]] = []  # of a context: "section", "item", "old" and "new"
    before: str = ""  # of a context: digest of the prompt as it was
    prompt: str = ""  # and as it is now


def edits_of(rows: Sequence[tuple[Recorded, Event | None]]) -> list[PersonEdit]:
    """The changes, in order; the engine names their authors, as authenticated by the hub."""
    return list(_edits(rows))


def edit_of(event: Change, max_cost: float | None = None, at: str = "") -> PersonEdit:
    """What *event* changed, of an execution that might spend *max_cost* before."""
    edit = PersonEdit(by=event.by, note=event.note, at=at, what=[])
    match event:
        case ExecutionEdited():
            edit.changed = {name: event.inputs.get(name) for name in event.changed}
            edit.what = ["inputs"] if event.changed else []
            if event.max_cost not in (None, max_cost):
                edit.changed["max_cost"] = event.max_cost
                edit.what.append("max_cost")
        case ExecutionBreakpointsChanged():
            edit.what = ["breakpoints"]
            edit.changed = {"added": [*event.added], "removed": [*event.removed]}
        case ContextEdited():
            edit.what, edit.step = ["context"], event.step_id
            edit.texts, edit.before, edit.prompt = [*event.edits], event.before, event.prompt
        case StepSettled():
            edit.what = ["skipped" if event.outcome == "skipped" else "result"]
            edit.step, edit.changed = event.step_id, event.result
    return edit


def edit_line(edit: PersonEdit) -> str:
    """A change in a line: what, by whom, and why."""
    values = ", ".join(f"{name} = {brief_value(value)}" for name, value in edit.changed.items())
    what = values
    if "context" in edit.what:
        places = (each["item"] or f"the {each['section']} itself" for each in edit.texts)
        what = f"the context of {edit.step}: {', '.join(dict.fromkeys(places))}"
    elif "breakpoints" in edit.what:
        told = {"set before": edit.changed["added"], "removed before": edit.changed["removed"]}
        what = "; ".join(f"breakpoints {how} {', '.join(at)}" for how, at in told.items() if at)
    elif "skipped" in edit.what:
        what = f"{edit.step} is skipped"
    elif "result" in edit.what:
        what = f"the result of {edit.step}: {values or 'nothing'}"
    return "; ".join(filter(None, (what, f"by {edit.by}", edit.note)))


def unedited_line(unedited: Sequence[str]) -> str:
    """What people changed of a prompt before and it does not have, in a line."""
    return f"without the change of {'; '.join(unedited)}"


def _edits(rows: Sequence[tuple[Recorded, Event | None]]) -> Iterator[PersonEdit]:
    max_cost: float | None = None
    for record, event in rows:
        if isinstance(event, ExecutionStarted):
            max_cost = event.max_cost
        elif isinstance(event, Change) and is_own(record):
            yield edit_of(event, max_cost, iso(record.time_ns))
            max_cost = event.max_cost if isinstance(event, ExecutionEdited) else max_cost
