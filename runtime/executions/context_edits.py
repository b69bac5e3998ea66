"""The fold of what people change in a prompt that a breakpoint shows.

Cortex compiles the prompt again with the change as one more input, and shows it again. If the
compiler refuses, the earlier prompt stays. A change belongs to the step: every later prompt of the
step is compiled with it, too.
"""

from msgspec.structs import replace

from cortex.bus.events import ContextCompile, ContextEdited

from .state import Edits, Execution


def asked(state: Execution, event: ContextCompile) -> Execution:
    """The prompt is compiled with what people changed, now or before."""
    again = event.new_edits > 0 and event.step_id == state.step_id
    return replace(
        state,
        edits={**state.edits, event.step_id: event.edits},
        new_edits=event.new_edits,
        editing=state.compiled if again else None,
    )


def refused(state: Execution) -> Execution:
    """*state*, at the prompt as it was, where a change made none."""
    if state.editing is None:
        return state
    return replace(state, stage="compiled", compiled=state.editing)


def edited(state: Execution, _event: ContextEdited, _: int) -> Execution:
    """The prompt has the change."""
    return replace(state, new_edits=0, editing=None)


def shown(state: Execution) -> Execution:
    """*state*, without a change that came to nothing: its prompt is shown as it was."""
    if state.editing is None:
        return state
    kept = edits_of(state)[: -state.new_edits]
    edits = {**state.edits, state.step_id: kept}
    return replace(state, edits=edits, new_edits=0, editing=None)


def edits_of(state: Execution) -> Edits:
    """What people changed in the prompts of the step at hand, so far."""
    return state.edits.get(state.step_id, ())
