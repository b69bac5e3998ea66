"""What the events of a step with several items make of its execution."""

from msgspec.structs import replace

from cortex.bus.events import StepCompleted, StepDelegated, StepFanned, StepItemChanged

from .items import Fan, begun_fan, outcome, statuses_of, with_begun, with_changed
from .state import Execution, afresh, without, without_fan


def fanned(state: Execution, event: StepFanned, _: int) -> Execution:
    """A step with several items begins."""
    if state.status != "running":
        return state
    return replace(
        afresh(state, event.step_id),
        stage="fan",
        fan=begun_fan(event, state.tokens, state.cost),
        child="",
        attempt=event.attempt,
        attempts={**state.attempts, event.step_id: event.attempt},
        statuses=without(state.statuses, event.step_id),
    )


def item_begun(state: Execution, event: StepDelegated) -> Execution:
    """The execution of an item begins."""
    if state.fan is None or event.step_id != state.step_id:
        return state
    return replace(state, fan=with_begun(state.fan, event))


def item_changed(state: Execution, event: StepItemChanged, _: int) -> Execution:
    """Something became of an item."""
    if state.fan is None or event.step_id != state.step_id or state.attempt != event.attempt:
        return state
    return replace(state, fan=with_changed(state.fan, event))


def joined(fan: Fan, settled: Execution, event: StepCompleted) -> Execution:
    """*settled*, where the step is over that worked on *fan*, with what its items gave."""
    return replace(
        settled,
        results={**settled.results, **outcome(fan, event.step_id, event)},
        statuses={**settled.statuses, **statuses_of(fan)},
    )


def given_up(state: Execution, fan: Fan) -> Execution:
    """*state*, whose step failed that worked on *fan*."""
    return replace(without_fan(state), statuses={**state.statuses, **statuses_of(fan)})
