"""The fold of effects that may happen once only: begun, of unknown outcome, settled by a person."""

import msgspec
from msgspec.structs import replace

from cortex.bus.events import EffectIntended, EffectSettled, EffectUnknown

from .state import Execution, without


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
