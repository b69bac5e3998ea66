"""Which model answers a step: the cheapest that meets what the step needs and can be paid.

What a step says under `needs` is met, or no model is asked. What was inferred of it is met where a
model meets it; where none does, the one that comes nearest is taken, and the choice says so.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from cortex.runtime.registry import LEVELLED

from .description import LEVELS, PERSON, ModelDescription, Usage, cost, dollars

# The assumed size of a call for comparing prices, if nothing better is known.
TYPICAL = Usage(input=8_000, output=1_500)
NOTHING: Final[Mapping[str, Any]] = {}
NARROW: Final = 2  # a window that is too small counts as much as two levels
AS_DEFAULT: Final = "set as default"  # why the preferred model is the one
STANDS_IN: Final = "the built-in substitute quotes its context, and no model is asked"


class Selected(msgspec.Struct, frozen=True):
    """The choice, and why."""

    model: ModelDescription
    because: str
    runners_up: tuple[
        str, ...
    ] = ()  # other suitable models without an unfit answer, cheapest first
    rejected: tuple[str, ...] = ()  # "NAME lacks ...": why the rest would not
    cost: float = 0.0  # estimated cost of the call in US dollars
    better: tuple[str, ...] = ()  # stronger ones that can be paid, the next better first


class _Weighed(msgspec.Struct, frozen=True):
    """A model that meets all that was said, and what it lacks of what was inferred."""

    model: ModelDescription
    lacks: tuple[str, ...]
    short: int  # how far it is from what was inferred


def select(
    models: Iterable[ModelDescription],
    needs: Mapping[str, Any],
    preferred: str = "",
    *,
    left: float | None = None,
    call: Usage = TYPICAL,
    tools: bool = False,
    inferred: Mapping[str, Any] = NOTHING,
    unfit: Sequence[str] = (),
) -> Selected | str:
    """The model for *needs* (reasoning, code, speed, sensitivity, context_tokens).

    Among those that meet them, that take *tools* where the step has some, and whose *call* costs no
    more than the US dollars that are *left*, it is one that meets what was *inferred*, too: the
    *preferred* one, else the cheapest, else the first by name. Where one of them gave an answer
    that was *unfit*, it is the next better one, as far as there is one. Where no model meets the
    needs, a sentence says what is missing.
    """
    standing = without_stand_ins(models, needs, preferred)
    known = sorted(standing, key=lambda m: (m.stand_in, cost(call, m.price), m.name))
    # In pairs, not by name: what one model lacks must not pass for what a namesake does.
    weighed = [(model, _lacks(model, needs, left, call, tools=tools)) for model in known]
    rejected = tuple(f"{m.name} lacks {', '.join(lacks)}" for m, lacks in weighed if lacks)
    fitting = [_weigh(model, inferred, preferred) for model, lacks in weighed if not lacks]
    if not fitting:
        reasons = "; ".join(rejected) or "no provider is loaded"
        return f"no model meets what the step needs: {reasons}"
    found = _next_better(fitting, unfit, call) or _best(fitting, preferred)
    chosen = found[0]
    full = any(not each.lacks for each in fitting)
    others = [each for each in fitting if each is not chosen]
    passed = [each for each in others if full and each.lacks]
    return Selected(
        model=chosen.model,
        because=found[1],
        runners_up=tuple(
            each.model.name
            for each in others
            if each not in passed and each.model.name not in unfit
        ),
        rejected=(*rejected, *map(_passed_over, passed)),
        cost=cost(call, chosen.model.price),
        better=tuple(each.model.name for each in _stronger(fitting, [chosen.model], call)),
    )


def without_stand_ins(
    models: Iterable[ModelDescription], needs: Mapping[str, Any], preferred: str = ""
) -> list[ModelDescription]:
    """*models* without substitutes for models, unless there are no others.

    They stay where they are asked for: by name as the *preferred* one, or because the step says
    that quotations will do.
    """
    known = list(models)
    if needs.get("extractive") or all(model.stand_in for model in known):
        return known
    return [model for model in known if not model.stand_in or model.name == preferred]


def that_choose(models: Iterable[ModelDescription]) -> list[ModelDescription]:
    """Those of *models* that choose by name what is done.

    A person acts by themselves, and a stand-in quotes.
    """
    return [model for model in models if not (model.stand_in or model.provider == PERSON)]


def _best(fitting: Sequence[_Weighed], preferred: str) -> tuple[_Weighed, str]:
    """The one that meets most of what was inferred, and why it is the one."""
    default = next((each for each in fitting if each.model.name == preferred), None)
    models = [each for each in fitting if not each.model.stand_in]
    if not models or (default is not None and default.model.stand_in):
        chosen = default or fitting[0]
        why = AS_DEFAULT if default else "there is nothing else to ask"
        return chosen, f"{why}: {STANDS_IN}"
    # Python's min keeps the first of equals, and they are sorted by what they cost.
    chosen = min(models, key=lambda each: (each.short, each is not default))
    if chosen.lacks:
        return chosen, f"the nearest to what was inferred: it lacks {', '.join(chosen.lacks)}"
    if chosen is default:
        return chosen, AS_DEFAULT
    return chosen, "the cheapest that meets the needs"


def _next_better(
    fitting: Sequence[_Weighed], unfit: Sequence[str], call: Usage
) -> tuple[_Weighed, str] | None:
    gave_them = [each.model for each in fitting if each.model.name in unfit]
    stronger = _stronger(fitting, gave_them, call) if gave_them else []
    if not stronger:
        return None
    return stronger[0], f"the answer of {unfit[-1]} did not fit, and this is the next better model"


def _stronger(
    fitting: Sequence[_Weighed], models: Collection[ModelDescription], call: Usage
) -> list[_Weighed]:
    """Those of *fitting* that are better than all of *models*, the weakest of them first."""
    bound = max(_strength(model, call) for model in models)
    found = [
        each for each in fitting if not each.model.stand_in and _strength(each.model, call) > bound
    ]
    return sorted(found, key=lambda each: _strength(each.model, call))


def _strength(model: ModelDescription, call: Usage) -> tuple[int, float]:
    """How much may be expected of a model: by its levels, then by what it costs."""
    if model.stand_in:
        return 0, -1.0
    return LEVELS[model.reasoning] + LEVELS[model.code], cost(call, model.price)


def _weigh(model: ModelDescription, inferred: Mapping[str, Any], preferred: str) -> _Weighed:
    lacks: list[str] = []
    short = 0
    for name in LEVELLED:
        has = getattr(model, name)
        # Who set a default of which no levels are stated is taken at their word.
        if has is None and model.name == preferred:
            continue
        missing = LEVELS[inferred.get(name)] - LEVELS[has]
        if missing > 0:
            lacks.append(f"{name} {inferred[name]}")
            short += missing
    if model.window < (inferred.get("context_tokens") or 0):
        lacks.append(f"a window of {inferred['context_tokens']:,} tokens")
        short += NARROW
    return _Weighed(model, tuple(lacks), short)


def _passed_over(weighed: _Weighed) -> str:
    return f"{weighed.model.name} lacks {', '.join(weighed.lacks)} (inferred)"


def _lacks(
    model: ModelDescription,
    needs: Mapping[str, Any],
    left: float | None,
    call: Usage,
    *,
    tools: bool,
) -> list[str]:
    lacks = [
        f"{name} {needs[name]}"
        for name in LEVELLED
        if LEVELS[getattr(model, name)] < LEVELS.get(needs.get(name), 0)
    ]
    if needs.get("sensitivity") == "local" and not model.local:
        lacks.append("being local")
    if tools and not model.tools:
        lacks.append("tools")
    if model.window < (needs.get("context_tokens") or 0):
        lacks.append(f"a window of {needs['context_tokens']:,} tokens")
    price = cost(call, model.price)
    if left is not None and price > max(left, 0.0):
        lacks.append(
            f"a price below the {dollars(left)} that are left ({dollars(price)})"
            if left > 0
            else f"being free, and there is nothing to spend ({dollars(price)})"
        )
    return lacks
