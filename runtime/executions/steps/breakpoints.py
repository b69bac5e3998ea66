"""Breakpoints: the steps before which an execution pauses, so that a person sees what comes next.

They come from the process (`breakpoint: true`), from the request, and from people while it runs.
A person may also go on by one step: then it pauses before the next one, whichever that is.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from cortex.bus.events import ExecutionBreak, ExecutionBreakpointsChanged
from cortex.runtime.processes import Granted, LinkedProcess, LinkedStep, did_you_mean, listed

from ..state.asked import ENGINE, asker
from ..state.state import Execution
from .outbox import Outbox

if TYPE_CHECKING:
    from .step_sequencer import StepSequencer  # which uses the functions of this module


def breakpoint_places(process: LinkedProcess) -> list[str]:
    """Where *process* can pause: before steps, and actions that may be chosen towards a goal."""
    places = [step.id for step in process.steps]
    return places + [each.name for step in process.steps for each in _grants(step)]


def no_breakpoint(process: LinkedProcess, names: Iterable[str]) -> str:
    """Which of *names* is no place for a breakpoint, with the nearest that is; "" for none."""
    places = breakpoint_places(process)
    for name in names:
        if name not in places:
            meant = did_you_mean(name, places, f"it has {listed(places)}")
            return f"{process.name} has no step {name[:40]!r}: {meant}"
    return ""


def breakpoints_of(process: LinkedProcess, state: Execution) -> tuple[str, ...]:
    """The steps, and the actions towards a goal, before which *state* pauses."""
    if state.breaks is not None:
        return state.breaks
    own: list[str] = []
    if _takes_its_own(state):
        own += [step.id for step in process.steps if step.breakpoint]
        own += [each.name for step in process.steps for each in _grants(step) if each.breakpoint]
    return tuple(sorted({*own, *state.begun().breakpoints}))


def _takes_its_own(state: Execution) -> bool:
    """Whether the breakpoints of the process itself count: in a what-if people went on there."""
    variation = state.begun().variation
    return variation is None or not variation.what_if


def steps_to(step: LinkedStep, state: Execution) -> bool:
    """Whether a person went on by one step, and *step* is the next one."""
    return state.stepping not in (None, step.id)


def stops_at(step: LinkedStep, state: Execution) -> bool:
    """Whether the execution pauses before *step*, where it has not yet done so."""
    if steps_to(step, state):
        return True
    if state.breaks is None:
        own = step.breakpoint and _takes_its_own(state)
        breaks = own or step.id in state.begun().breakpoints
    else:
        chosen = (each.name for each in state.grown if each.step_id == step.id)
        breaks = next(chosen, step.id) in state.breaks
    if not breaks and step.id != state.broke_at:
        return False
    return step.id not in (state.shown if step.asks_model else state.stopped)


def set_breakpoints(sequencer: "StepSequencer", outbox: Outbox, event: ExecutionBreak) -> None:
    """Pause before other steps from now on, and so in the items that are under way."""
    state, process = outbox.state, sequencer.compiled
    if state.status == "unknown":
        return
    before = () if state.started is None else breakpoints_of(process, state)
    added = tuple(sorted({*event.add} - {*before}))
    removed = tuple(sorted({*event.remove} & {*before}))
    refused = _against(process, state, event)
    if not refused and not added and not removed:
        if outbox.source == ENGINE:
            return  # an item that began after the change
        refused = "it would change nothing"
    if refused:
        outbox.refuse(event, refused)
        return
    by = asker(outbox.source, event.by)
    outbox.say(
        ExecutionBreakpointsChanged(
            execution_id=state.execution_id,
            breakpoints=tuple(sorted({*before, *added} - {*removed})),
            added=added,
            removed=removed,
            by=by,
            note=event.note,
        )
    )
    _bound_again(sequencer, outbox, state)
    for item in state.fan.live if state.fan is not None else ():
        outbox.outputs.append(replace(event, execution_id=item, by=by))


def _against(process: LinkedProcess, state: Execution, event: ExecutionBreak) -> str:
    if state.over:
        return f"it is {state.status}: it pauses no more"
    if state.adhoc:
        return "it runs no process, and has no steps to pause before"
    if state.started is None:
        return "it has not begun: set its breakpoints once it has"
    if both := {*event.add} & {*event.remove}:
        return f"{listed(sorted(both))} is to be set and removed: say one of both"
    return no_breakpoint(process, (*event.add, *event.remove))


def _bound_again(sequencer: "StepSequencer", outbox: Outbox, before: Execution) -> None:
    """Bound the time of an attempt that was to stop with its prompt, and is not any more."""
    if before.status != "running" or before.stage not in ("knowledge", "memory", "context"):
        return
    step = sequencer.step
    if stops_at(step, before) and not stops_at(step, outbox.state):
        outbox.set_timeout(step)


def _grants(step: LinkedStep) -> Iterable[Granted]:
    return step.goal.grants if step.goal is not UNSET else ()
