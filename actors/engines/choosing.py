"""Selects the model for a prompt: by the step's needs, without models it could not reach."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import msgspec

from cortex.bus import Event
from cortex.bus.events import ContextCompile, ModelFailed, ModelResponded
from cortex.runtime.context import Budgets, Prompt
from cortex.runtime.directives import allowed_models, wanted_model
from cortex.runtime.kernel import Config
from cortex.runtime.models import (
    AS_DEFAULT,
    TYPICAL,
    ModelDescription,
    Price,
    Selected,
    Usage,
    cost,
    select,
    that_choose,
    without_stand_ins,
)

from .directed import laid_down_for

NOBODY: Mapping[str, str] = {}
OF_CALLS = (ModelFailed, ModelResponded)
ANSWER_TOKENS = 1_500  # answer size of a model if the compiler reserved no headroom
LET_GO = "`needs: { sensitivity: internal }` lets it go to others"
NOBODY_CHOOSES = "no configured model can choose actions: name one under [models] in config.toml"
ONCE_MORE = "its answer did not fit, and there is no better model: it is asked once more"
KEPT = {  # why a model is kept, by who says so
    "": "it answered the turns before",
    "record": "it was asked on record",
    "named": "the what-if names it",
}
LASTING = ("unreachable", "unauthorised")  # failures that a retry would meet again


def choose(
    asked: ContextCompile,
    models: Sequence[ModelDescription],
    config: Config,
    failed: Mapping[str, str] = NOBODY,
    call: Usage | None = None,
) -> Selected | str:
    """The model for *asked*, or one line with the reason why there is none.

    What people prohibited is not asked, and no substitute for a model answers in its place.
    The model of earlier turns is kept if it still fits. Models that *failed*, and others that share
    their endpoint, as far as that is known, are selected only if no others meet what the step
    needs; what it needs is the same for both. The maximum of the *call* is estimated from what
    the step declares, until its prompt is there.
    """
    call = call or _call(asked, config)
    models = without_stand_ins(models, asked.needs, config.models.default)
    models, prohibited = allowed_models(laid_down_for(asked), models)
    if prohibited and not models:
        return f"no model may answer: {'; '.join(prohibited)}"
    if asked.linked:  # towards a goal
        models = that_choose(models)
        if not models:
            return NOBODY_CHOOSES
    ends = {(model.provider, model.local) for model in models if model.name in failed}
    if ends:
        others = [model for model in models if (model.provider, model.local) not in ends]
        chosen = _select(asked, others, config, call)
        if isinstance(chosen, Selected):
            passed_over = (f"{name} {why}" for name, why in failed.items())
            return _with_rejected(chosen, (*passed_over, *prohibited))
    return _with_rejected(_select(asked, models, config, call), prohibited)


def _with_rejected(chosen: Selected | str, notes: Iterable[str]) -> Selected | str:
    if isinstance(chosen, str):
        return "; ".join((chosen, *notes))
    return msgspec.structs.replace(chosen, rejected=(*chosen.rejected, *notes))


def unreached(events: Iterable[Event], step_id: str) -> dict[str, str]:
    """Models that the step *step_id* failed to ask, and has not asked since, with the failure."""
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


def too_dear(asked: ContextCompile, prompt: Prompt, model: ModelDescription) -> Usage | None:
    """The maximum cost of the call with *prompt*, if the execution cannot pay it."""
    if asked.left is None:
        return None
    call = most(prompt, model)
    return call if cost(call, model.price) > asked.left else None


def most_of(prompt: Prompt, model: ModelDescription) -> float | None:
    """US dollars that the call with *prompt* may cost at most; None if no price is known."""
    if model.price == Price() and not (model.local or model.stand_in):
        return None
    return cost(most(prompt, model), model.price)


def most(prompt: Prompt, model: ModelDescription) -> Usage:
    """The maximum of the call with *prompt*."""
    answer = prompt.manifest.headroom or ANSWER_TOKENS
    # A provider may charge more for caching a prompt than for reading it.
    kept = model.price.cached_write > model.price.input
    tokens = prompt.tokens + prompt.manifest.framing
    sent = Usage(cached_write=tokens) if kept else Usage(input=tokens)
    return msgspec.structs.replace(sent, output=answer)


def _select(
    asked: ContextCompile, models: Sequence[ModelDescription], config: Config, call: Usage
) -> Selected | str:
    needs = asked.needs
    if private := asked.inferred.get("sensitivity"):
        needs = {**needs, "sensitivity": private}  # unlike a level, it is never relaxed
    unfit = unfit_for(asked)
    pick = partial(
        select, models, needs, left=asked.left, call=call, tools=bool(asked.tools or asked.linked)
    )
    if asked.model and asked.model not in unfit and not _is_other_wanted(asked, models):
        kept = pick(asked.model)
        if isinstance(kept, Selected) and kept.model.name == asked.model:
            return msgspec.structs.replace(kept, because=KEPT.get(asked.model_by, KEPT[""]))
    again = asked.model in unfit
    wanted, directive = wanted_model(laid_down_for(asked), models)
    preferred = asked.model if again else wanted or config.models.default
    selected = pick(preferred, inferred=asked.inferred, unfit=unfit)
    if isinstance(selected, Selected) and selected.because == AS_DEFAULT and preferred == wanted:
        return msgspec.structs.replace(selected, because=directive)
    if again and isinstance(selected, Selected) and selected.model.name == asked.model:
        return msgspec.structs.replace(selected, because=ONCE_MORE)
    if isinstance(selected, str) and private:
        return f"{selected} ({asked.inferred_from.get('sensitivity', '')}: {LET_GO})"
    return selected


def _is_other_wanted(asked: ContextCompile, models: Sequence[ModelDescription]) -> bool:
    """Whether a person laid down, since the turns before, that another model is to be used."""
    wanted, _ = wanted_model(laid_down_for(asked), models)
    return bool(wanted) and wanted != asked.model and not asked.model_by


def unfit_for(asked: ContextCompile) -> tuple[str, ...]:
    """Models whose answers did not fit, in this attempt or in an earlier failed one."""
    before = [
        str(failure.get("model", ""))
        for failure in asked.failures
        if failure.get("step") == asked.step_id and failure.get("kind") == "wrong_answer"
    ]
    return tuple(dict.fromkeys((*filter(None, before), *asked.unfit)))


def _call(asked: ContextCompile, config: Config) -> Usage:
    """The maximum of the call, if a limit is set."""
    tokens = (
        asked.needs.get("context_tokens") or asked.budget.get("tokens") or config.context.window
    )
    if not tokens:
        return TYPICAL
    sections = dict(asked.budget.get("sections", ()))
    answer = sections.get("headroom") or config.context.budgets.headroom
    answer = min(tokens, answer or Budgets.scaled_to(tokens).headroom)
    return Usage(input=tokens - answer, output=answer)
