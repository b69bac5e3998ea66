"""Makes the requests with which a person decides about a step or its prompt."""

from typing import Any

import msgspec

from cortex.bus import Client
from cortex.bus.events import ContextEdit, StepSettle
from cortex.runtime.context import EditUnfitError, Manifest, edits_between, read_prompt
from cortex.runtime.log import Blobs
from cortex.runtime.processes import LinkedProcess, SettlementError

from ..state.state import Execution
from ..steps.people import REPLACED, SKIPPED
from .answering import declared_result, fitting
from .changing import no_step


def skip(state: Execution, step_id: str, *, seen: int, note: str = "") -> StepSettle:
    """Continue without *step_id*, which is not done.

    Args:
        state: A paused or halted execution, as it was shown.
        step_id: The current step, or a later one.
        seen: Log position up to which the person has read.
        note: Why, for the record.
    """
    return StepSettle(
        execution_id=state.execution_id, step_id=step_id, outcome=SKIPPED, note=note, seen=seen
    )


def give_result(
    client: Client,
    blobs: Blobs,
    state: Execution,
    step_id: str,
    result: Any,
    *,
    seen: int,
    note: str = "",
) -> StepSettle:
    """Go on with *result* as what *step_id* gave, whether it is done or not.

    Args:
        client: Of the hub on which the action is announced.
        blobs: Of the home.
        state: A paused or halted execution, as it was shown.
        step_id: Any step of its process.
        result: As the action is announced: a map, or JSON of one, or the one value it has.
        seen: Log position up to which the person has read.
        note: Why, for the record.

    Raises:
        SettlementError: There is no such step, or the result is not as the action declares it.
    """
    action = _action(blobs, state, step_id)
    declared = declared_result(client, action) if action else {}
    return StepSettle(
        execution_id=state.execution_id,
        step_id=step_id,
        outcome=REPLACED,
        result=fitting(action or step_id, result, declared),
        note=note,
        seen=seen,
    )


def edit_prompt(
    blobs: Blobs, state: Execution, text: str, *, seen: int, note: str = ""
) -> ContextEdit:
    """Replace the prompt at a breakpoint by *text*; it is shown again before it is sent.

    Args:
        blobs: Of the home.
        state: An execution that is paused at a breakpoint, as it was shown.
        text: The whole prompt, with the changes.
        seen: Log position up to which the person has read.
        note: Why, for the record.

    Raises:
        SettlementError: No prompt waits to be sent, or *text* changes nothing.
        EditUnfitError: A change touches the separators between the parts of a prompt.
        BlobError: The prompt cannot be read.
    """
    compiled = state.compiled
    if state.status != "paused" or state.stage != "compiled" or compiled is None:
        raise SettlementError(
            f"execution {state.execution_id} is {state.status}, and no prompt waits to be sent: a "
            "breakpoint before a step that asks a model shows one"
        )
    manifest = msgspec.json.decode(blobs.get(compiled.manifest), type=Manifest)
    before = read_prompt(blobs.get(compiled.prompt))
    edits = edits_between(before, text, (entry.id for entry in manifest.items))
    if not edits:
        raise EditUnfitError("the prompt", "it would change nothing")
    return ContextEdit(
        execution_id=state.execution_id,
        prompt=compiled.prompt,
        edits=tuple(
            {"section": e.section, "item": e.item, "old": e.old, "new": e.new} for e in edits
        ),
        note=note,
        seen=seen,
    )


def _action(blobs: Blobs, state: Execution, step_id: str) -> str:
    """The action of a step; "" where it has none, or where no process leads the execution."""
    linked = state.started.linked if state.started else ""
    if not linked:
        return ""
    process = msgspec.json.decode(blobs.get(linked), type=LinkedProcess)
    found = [step for step in process.steps if step.id == step_id]
    if not found:
        raise SettlementError(no_step(process, step_id))
    return found[0].action.name if found[0].action else ""
