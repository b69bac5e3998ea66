"""What a step asks of a model without saying so: inferred from the work itself; pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from cortex.runtime.registry import LEVELLED, stated

from .description import LEVELS

HIGH_SPEED_S: Final = 30.0  # a step that may take no longer wants a fast model
MEDIUM_SPEED_S: Final = 120.0
MANY_FIELDS: Final = 6  # of an answer; one with more takes some thought to fill in
WINDOW_SHARE: Final = 0.4  # of a model's window that a prompt may take, at most
SMALL_PROMPT: Final = 2_000  # tokens; what fits into the window of every model needs no word


class WorkProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a step before a model is chosen for it."""

    action: str
    states: Mapping[str, Any] = {}  # needs that the action's announcement states
    changes: bool = False  # the action changes something by what the model answers
    answer: Mapping[str, Any] = {}  # JSON Schema of the answer; empty for free text
    tools: bool = False
    goal: bool = False  # it chooses what is done, turn by turn
    time_s: float | None = None  # that the step may take
    local: tuple[str, ...] = ()  # steps with `sensitivity: local` whose results it is shown


class Inferred(msgspec.Struct, frozen=True):
    """Needs, and for each of them what it was inferred from."""

    needs: dict[str, Any] = {}
    reasons: dict[str, str] = {}


def infer(work: WorkProfile, said: Mapping[str, Any]) -> Inferred:
    """What *work* asks of a model beyond the needs that its step has *said*: those override."""
    needs: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for name, value, reason in (*_levels(work), *_sensitivity(work)):
        if said.get(name) is not None:
            continue
        if name in LEVELLED and LEVELS[value] <= LEVELS[needs.get(name)]:
            continue
        needs[name], reasons[name] = value, reason
    return Inferred(needs, reasons)


def window_for(material_tokens: int, said: Mapping[str, Any]) -> int:
    """The window into whose usual share *material_tokens* go whole; 0 where any will do."""
    if said.get("context_tokens") is not None or material_tokens <= SMALL_PROMPT:
        return 0
    return round(material_tokens / WINDOW_SHARE)


def _levels(work: WorkProfile) -> Iterator[tuple[str, Any, str]]:
    yield "reasoning", "low", "a model is asked"
    for name, level in stated(work.states).items():
        yield name, level, f"the action {work.action} states it"
    if work.changes:
        yield "reasoning", "medium", f"{work.action} acts on the answer"
    if _is_demanding(work.answer):
        yield "reasoning", "medium", "the answer has many parts"
    if work.goal:
        yield "reasoning", "high", "it works towards a goal, turn by turn"
    if work.tools:
        yield "reasoning", "medium", "it uses tools"
    if work.time_s is not None and work.time_s <= MEDIUM_SPEED_S:
        level = "high" if work.time_s <= HIGH_SPEED_S else "medium"
        yield "speed", level, f"it may take {work.time_s:g} s"


def _sensitivity(work: WorkProfile) -> Iterator[tuple[str, Any, str]]:
    if work.local:
        noun = "step" if len(work.local) == 1 else "steps"
        shown = f"it sees the result of the {noun} {', '.join(work.local)}"
        yield "sensitivity", "local", f"{shown}, which may not leave this host"


def _is_demanding(schema: Mapping[str, Any]) -> bool:
    """Whether an answer of this shape has many fields, or lists of things with fields."""
    defined = schema.get("$defs", {})
    shapes = [schema, *(each for each in defined.values() if isinstance(each, Mapping))]
    fields = [each for shape in shapes for each in _fields_of(shape)]
    nested = any(_is_list_of_objects(each, defined) for each in fields)
    return nested or len(fields) > MANY_FIELDS


def _fields_of(schema: Mapping[str, Any]) -> list[Any]:
    properties = schema.get("properties")
    return list(properties.values()) if isinstance(properties, Mapping) else []


def _is_list_of_objects(schema: Any, defined: Mapping[str, Any]) -> bool:
    items = schema.get("items") if isinstance(schema, Mapping) else None
    if not isinstance(items, Mapping):
        return False
    named = defined.get(str(items.get("$ref", "")).rpartition("/")[2], items)
    return isinstance(named, Mapping) and "properties" in named
