"""Which model answers a step: the cheapest that meets what the step needs and can be paid."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from .description import ModelDescription, Usage, cost

LEVELS = {None: 0, "low": 1, "medium": 2, "high": 3}
# What a call is reckoned with to compare prices, where nothing better is known.
TYPICAL = Usage(input=8_000, output=1_500)


class Selected(msgspec.Struct, frozen=True):
    """The choice, and why."""

    model: ModelDescription
    because: str
    runners_up: tuple[str, ...] = ()  # the others that would do, cheapest first
    rejected: tuple[str, ...] = ()  # "NAME lacks ...": why the rest would not
    cost: float = 0.0  # US dollars that the call is reckoned to take


def select(
    models: Iterable[ModelDescription],
    needs: Mapping[str, Any],
    preferred: str = "",
    *,
    left: float | None = None,
    call: Usage = TYPICAL,
    tools: bool = False,
) -> Selected | str:
    """The model for *needs* (reasoning, code, speed, sensitivity, context_tokens).

    Among those that meet them, that take *tools* where the step has some, and whose *call* costs no
    more than the US dollars that are *left*, it is *preferred* where that is one, else the
    cheapest, else the first by name. Where there is none, a sentence that says what is missing.
    """
    known = sorted(models, key=lambda m: (cost(call, m.price), m.name))
    # In pairs, not by name: what one model lacks must not pass for what a namesake does.
    weighed = [(model, _lacks(model, needs, left, call, tools=tools)) for model in known]
    fitting = [model for model, lacks in weighed if not lacks]
    rejected = tuple(f"{m.name} lacks {', '.join(lacks)}" for m, lacks in weighed if lacks)
    if not fitting:
        reasons = "; ".join(rejected) or "no provider is loaded"
        return f"no model meets what the step needs: {reasons}"
    chosen = next((m for m in fitting if m.name == preferred), fitting[0])
    because = "set as default" if chosen.name == preferred else "the cheapest that meets the needs"
    others = tuple(m.name for m in fitting if m is not chosen)
    return Selected(chosen, because, others, rejected, cost(call, chosen.price))


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
        for name in ("reasoning", "code", "speed")
        if LEVELS[getattr(model, name)] < LEVELS.get(needs.get(name), 0)
    ]
    if needs.get("sensitivity") == "local" and not model.local:
        lacks.append("being local")
    if tools and not model.tools:
        lacks.append("tools")
    if model.window < (needs.get("context_tokens") or 0):
        lacks.append(f"a window of {needs['context_tokens']} tokens")
    price = cost(call, model.price)
    if left is not None and price > max(left, 0.0):
        lacks.append(f"a price below the ${max(left, 0.0):.4f} that are left (${price:.4f})")
    return lacks
