"""The events that report a change by a person: of a prompt, or of the result of a step."""

from typing import Final

from cortex.bus.events import ContextEdit, ContextEdited, StepCompleted

from ..state.folds import edits_of
from ..state.values import clipped
from .outbox import Outbox

SKIPPED: Final = "skipped"
REPLACED: Final = "replaced"
OUTCOMES: Final = (SKIPPED, REPLACED)
PARTS: Final = ("section", "item", "old", "new")  # of an edit of a prompt


def say_settled(outbox: Outbox, step_id: str) -> bool:
    """Say that a step was skipped, or has the result that a person gave; whether it has one."""
    state = outbox.state
    said = state.settled[step_id]
    why = f": {said.note}" if said.note else ""
    if state.stage == "handler":  # nobody has begun it: withdraw it
        outbox.fail_step(step_id, state.attempt, f"{said.by} settled it", "settled", retry=False)
    if said.outcome == SKIPPED:
        outbox.skip(step_id, clipped(f"{said.by} skipped it{why}"))
        return False
    outbox.say(
        StepCompleted(
            execution_id=state.execution_id,
            step_id=step_id,
            attempt=state.attempts.get(step_id, 0) + 1,
            result=said.result,
            summary=clipped(f"{said.by} gave its result{why}"),
        )
    )
    return True


def show_edited(outbox: Outbox) -> None:
    """Show the prompt with what a person changed, as the breakpoint showed it before."""
    state = outbox.state
    before, now = state.editing, state.compiled
    if before is None or now is None:
        return
    if before.prompt == now.prompt:
        show_unedited(outbox, "the prompt would be the same, to the byte")
        return
    new = edits_of(state)[-state.new_edits :]
    outbox.say(
        ContextEdited(
            execution_id=state.execution_id,
            step_id=state.step_id,
            attempt=state.attempt,
            turn=state.turn,
            before=before.prompt,
            prompt=now.prompt,
            edits=tuple({name: each[name] for name in PARTS} for each in new),
            by=new[0]["by"],
            note=new[0]["note"],
        )
    )
    outbox.pause("breakpoint", state.step_id, prompt=now.prompt)


def show_unedited(outbox: Outbox, reason: str) -> None:
    """Show the prompt as it was: what a person changed makes none."""
    state = outbox.state
    if state.editing is None:
        return
    by = edits_of(state)[-1]["by"]
    outbox.refuse(ContextEdit, f"the context of {state.step_id} stays as it is: {reason}", by)
    outbox.pause("breakpoint", state.step_id, prompt=state.editing.prompt)
