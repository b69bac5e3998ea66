"""Which model answers a step: the cheapest that meets what the step needs."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from .description import ModelDescription

LEVELS = {None: 0, "low": 1, "medium": 2, "high": 3}


class Selected(msgspec.Struct, frozen=True):
    """The choice, and why."""

    model: ModelDescription
    because: str
    runners_up: tuple[str, ...] = ()


def select(
    models: Iterable[ModelDescription], needs: Mapping[str, Any], preferred: str = ""
) -> Selected | str:
    """The model for *needs* (reasoning, code, speed, sensitivity, context_tokens).

    Among those that meet them it is *preferred* where that is one, else the cheapest, else the
    first by name. Where there is none, a sentence that says what is missing.
    """
    known = sorted(models, key=lambda m: (m.price_in + m.price_out, m.name))
    fitting = [model for model in known if not _lacks(model, needs)]
    if not fitting:
        reasons = "; ".join(f"{m.name} lacks {', '.join(_lacks(m, needs))}" for m in known)
        return f"no model meets what the step needs: {reasons or 'no provider is loaded'}"
    chosen = next((m for m in fitting if m.name == preferred), fitting[0])
    because = "set as default" if chosen.name == preferred else "the cheapest that meets the needs"
    return Selected(chosen, because, tuple(m.name for m in fitting if m is not chosen))


def _lacks(model: ModelDescription, needs: Mapping[str, Any]) -> list[str]:
    lacks = [
        f"{name} {needs[name]}"
        for name in ("reasoning", "code", "speed")
        if LEVELS[getattr(model, name)] < LEVELS.get(needs.get(name), 0)
    ]
    if needs.get("sensitivity") == "local" and not model.local:
        lacks.append("being local")
    if model.window < (needs.get("context_tokens") or 0):
        lacks.append(f"a window of {needs['context_tokens']} tokens")
    return lacks
