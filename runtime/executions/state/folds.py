"""Folds beside the sequence of steps: gates, lookups, edits of a prompt, effects, items."""

from typing import Any

import msgspec
from msgspec.structs import replace

from cortex.bus.events import (
    ContextCompile,
    ContextEdited,
    EffectIntended,
    EffectSettled,
    EffectUnknown,
    GateEvaluate,
    GateEvaluated,
    KnowledgeRequested,
    MemoryRequested,
    StepCompleted,
    StepDelegated,
    StepFanned,
    StepItemChanged,
)

from . import goals
from .asked import CALLS, names_of
from .failures import with_gate, without_gate
from .items import Fan, begun_fan, outcome, statuses_of, with_begun, with_changed
from .state import Edits, Execution, afresh, answers, entered, without, without_fan


def gate_asked(state: Execution, event: GateEvaluate, _: int) -> Execution:
    """A gate is asked."""
    if state.status != "running":
        return state
    if event.step_id != state.step_id:
        state = entered(state, event.step_id)
    asked = {**state.gate_attempts, f"{event.step_id}/{event.index}": event.attempt}
    return replace(
        state,
        stage="gate",
        gate=event.gate,
        asked=names_of(event),
        gate_attempt=event.attempt,
        gate_attempts=asked,
    )


def gate_answered(state: Execution, event: GateEvaluated, _: int) -> Execution:
    """The gate that was asked has answered."""
    asked = (state.step_id, state.gates_passed, state.gate_attempt)
    if state.status != "running" or state.stage != "gate":
        return state
    if asked != (event.step_id, event.index, event.attempt):
        return state
    if event.outcome == "failed" and not goals.checks(state, event.index):
        return replace(state, stage="gate_open", failures=with_gate(state.failures, event))
    if event.outcome != "passed":
        return replace(state, stage="gate_open")
    return replace(
        state,
        stage="idle",
        failures=without_gate(state.failures, event.step_id, event.gate),
        gates_passed=state.gates_passed + 1,
        gate_attempt=0,
        gate_answer=("", ""),
    )


def found(state: Execution, event: KnowledgeRequested, _: int) -> Execution:
    """The result of the step's `find:`; results of its model's tools do not count."""
    if event.call_id or not answers(state, event, "knowledge"):
        return state
    return replace(state, found=event.found, reason=event.problem or state.reason)


def remembered(state: Execution, event: MemoryRequested, _: int) -> Execution:
    """The result of the step's `memory:`; results of its model's tools do not count."""
    if event.call_id or not answers(state, event, "memory"):
        return state
    return replace(state, remembered=event.found, reason=event.problem or state.reason)


def intended(state: Execution, event: EffectIntended, _: int) -> Execution:
    """It begins."""
    if event.effect_key in state.effects or not _is_open(state, event):
        return state
    return replace(state, effects={**state.effects, event.effect_key: event})


def unknown(state: Execution, event: EffectUnknown, _: int) -> Execution:
    """Nobody knows how it ended."""
    if event.effect_key in state.unknown or not _is_open(state, event):
        return state
    if state.stage in ("failed", "idle") and not state.adhoc:
        # It was given up before it was seen to begin.
        state = replace(state, stage="handler", statuses=without(state.statuses, event.step_id))
    said = msgspec.structs.asdict(event)
    begun = EffectIntended(**{name: said[name] for name in EffectIntended.__struct_fields__})
    return replace(
        state,
        effects={**state.effects, event.effect_key: begun},
        unknown={**state.unknown, event.effect_key: event},
    )


def called(state: Execution, event: Any) -> Execution:
    """Something is asked for, maybe of the record; an agreement of a person is used up."""
    if type(event) not in CALLS:
        return state
    if not (event.recorded or state.agreed or getattr(event, "anew", False)):
        return state
    used = state.recalled | {event.recorded} if event.recorded else state.recalled
    anew = state.anew or getattr(event, "anew", False)
    return replace(state, recalled=used, anew=anew, agreed=False)


def settled(state: Execution, event: EffectSettled, _: int) -> Execution:
    """A person said what became of it."""
    return replace(
        state,
        effects=without(state.effects, event.effect_key),
        unknown=without(state.unknown, event.effect_key),
    )


def _is_open(state: Execution, event: EffectIntended | EffectUnknown) -> bool:
    """Whether the effect is of the attempt at hand, and its outcome is not recorded."""
    if state.status not in ("running", "paused"):
        return False
    if state.adhoc:
        return (event.step_id, event.attempt) not in state.observed
    if (state.step_id, state.attempt) != (event.step_id, event.attempt):
        return False
    if event.kind == "tool":
        return state.stage == "tools" and event.call_id in state.open_calls
    done = state.statuses.get(event.step_id) in ("completed", "skipped")
    return state.stage in ("handler", "failed", "idle") and not done


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
