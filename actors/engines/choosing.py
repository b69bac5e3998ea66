"""Which model a prompt is compiled for: what the step needs, less whom it could not reach."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from cortex.bus import Event
from cortex.bus.events import ContextCompile, ModelFailed, ModelResponded
from cortex.runtime.context import Budgets
from cortex.runtime.kernel import Config
from cortex.runtime.models import TYPICAL, ModelDescription, Selected, Usage, select

NOBODY: Mapping[str, str] = {}
OF_CALLS = (ModelFailed, ModelResponded)
LASTING = ("unreachable", "unauthorised")  # failures that the next try would meet again


def choose(
    asked: ContextCompile,
    models: Sequence[ModelDescription],
    config: Config,
    failed: Mapping[str, str] = NOBODY,
) -> Selected | str:
    """The model for *asked*, or one line that says why there is none.

    The model of earlier turns is kept where it still fits. Those that *failed*, and whoever shares
    an endpoint with them as far as can be told, are taken only where no others meet what the step
    needs; what it needs is the same for both.
    """
    ends = {(model.provider, model.local) for model in models if model.name in failed}
    if ends:
        others = [model for model in models if (model.provider, model.local) not in ends]
        chosen = _select(asked, others, config)
        if isinstance(chosen, Selected):
            passed_over = (f"{name} {why}" for name, why in failed.items())
            return msgspec.structs.replace(chosen, rejected=(*chosen.rejected, *passed_over))
    return _select(asked, models, config)


def unreached(events: Iterable[Event], step_id: str) -> dict[str, str]:
    """Models that the step *step_id* could not ask and has not asked since, and what became."""
    failed: dict[str, str] = {}
    for event in events:
        match event:
            case ModelResponded():
                failed.pop(event.model, None)
            case ModelFailed() if event.step_id == step_id and event.kind in LASTING:
                failed[event.model] = f"was {event.kind} in attempt {event.attempt}"
            case _:
                pass
    return failed


def _select(
    asked: ContextCompile, models: Sequence[ModelDescription], config: Config
) -> Selected | str:
    call = _call(asked, config)
    if asked.model:
        kept = select(models, asked.needs, asked.model, left=asked.left, call=call)
        if isinstance(kept, Selected) and kept.model.name == asked.model:
            return msgspec.structs.replace(kept, because="it answered the turns before")
    return select(models, asked.needs, config.models.default, left=asked.left, call=call)


def _call(asked: ContextCompile, config: Config) -> Usage:
    """What the call may take at most, where somebody says."""
    tokens = (
        asked.needs.get("context_tokens") or asked.budget.get("tokens") or config.context.window
    )
    if not tokens:
        return TYPICAL
    sections = dict(asked.budget.get("sections", ()))
    answer = sections.get("headroom") or config.context.budgets.headroom
    answer = min(tokens, answer or Budgets.scaled_to(tokens).headroom)
    return Usage(input=tokens - answer, output=answer)
