"""Typed values of an execution: its inputs, the results of its steps, its outputs.

The hub refuses a body above its limit together with its whole page, so values that are too large
are found here before.
"""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from cortex.bus import Event
from cortex.runtime.processes import (
    EvaluationScope,
    Field,
    LinkedStep,
    MissingValueError,
    Output,
    ValueType,
    fill,
    wrong_answer,
)

ROOM_BYTES = 240 * 1024  # a hub takes 256 KiB; what is derived from an event may be a bit larger
REASON_CHARACTERS = 2_000  # a reason is a line for people
_ENCODE = msgspec.msgpack.Encoder().encode
_TYPES: Mapping[ValueType, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list, tuple),
    "map": (dict,),
    "path": (str,),
}


def checked_inputs(
    fields: Sequence[Field], given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """*given* with defaults filled in, and everything that is wrong with it."""
    names = [field.name for field in fields]
    wrong = [_unknown(name, names) for name in given if name not in names]
    values: dict[str, Any] = {}
    for field in fields:
        value = given.get(field.name)
        if value is None:
            value = field.default
        if value is None:
            if field.required:
                wrong.append(f"{field.name} is missing: it is required, as {field.type}")
            continue
        wrong += _problems(field, value)
        values[field.name] = value
    return values, wrong


def wrong_result(fields: Sequence[Field], result: Mapping[str, Any]) -> list[str]:
    """Everything in which *result* is not what a step has to give; other fields are welcome."""
    wrong: list[str] = []
    for field in fields:
        value = result.get(field.name)
        if value is not None:
            wrong += _problems(field, value)
        elif field.required:
            wrong.append(f"{field.name} is missing: the step has to give it, as {field.type}")
    return wrong


def not_as_declared(step: LinkedStep, result: dict[str, Any]) -> str:
    """In what *result* is not what *step* has to give; "" where it fits."""
    wrong = wrong_result(step.output, result)
    if step.output_schema is not UNSET:
        problem = wrong_answer(result, step.output_schema)
        wrong += [problem] if problem else []
    return f"the result of {step.id} is not as declared: {'; '.join(wrong)}" if wrong else ""


def outputs_of(
    fields: Sequence[Output], scope: EvaluationScope
) -> tuple[dict[str, Any], list[str]]:
    """The outputs of an execution in *scope*, and all their problems."""
    values: dict[str, Any] = {}
    wrong: list[str] = []
    for field in fields:
        try:
            value = fill(field.value, scope)
        except MissingValueError as error:
            value, why = None, str(error)
        else:
            why = "a value that it is made from was skipped or left out"
        if value is not None:
            wrong += _problems(field, value)
            values[field.name] = value
        elif field.required:
            wrong.append(f"{field.name} has no value: {why}")
    return values, wrong


def _problems(field: Field | Output, value: Any) -> list[str]:
    types = _TYPES[field.type]
    # Python holds True for an integer; the language does not.
    if not isinstance(value, types) or (isinstance(value, bool) and field.type != "boolean"):
        return [f"{field.name} is {value!r:.60}, expected: {field.type}"]
    if field.enum and value not in field.enum:
        allowed = ", ".join(map(str, field.enum))
        return [f"{field.name} is {value!r:.60}, expected one of {allowed}"]
    return []


def _unknown(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"{name} is not an input of this process: did you mean {near[0]}?"
    return f"{name} is not an input of this process: it has {', '.join(names) or 'none'}"


def too_large(event: Event) -> str | None:
    """What to say about *event* if it is too large for the log; None where it fits."""
    size = len(_ENCODE(event))
    if size <= ROOM_BYTES:
        return None
    return (
        f"{event.topic_name()} would have {size:,} bytes, and {ROOM_BYTES:,} fit: "
        "hand large values over as files or blobs, and carry single fields"
    )


def clipped(reason: str) -> str:
    """*reason*, cut where it is no line any more."""
    if len(reason) <= REASON_CHARACTERS:
        return reason
    return reason[: REASON_CHARACTERS - 1] + "…"
