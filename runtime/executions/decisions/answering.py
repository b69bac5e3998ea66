"""Makes the request with which a person answers about an effect of unknown outcome."""

from collections.abc import Mapping
from typing import Any

import msgspec

from cortex.bus import Client
from cortex.bus.events import EffectSettle, EffectUnknown
from cortex.runtime.log import Blobs
from cortex.runtime.processes import SettlementError, wrong_answer
from cortex.runtime.registry import STREAM, registry_of

from ..state.state import Execution

EXCERPT_CHARS = 2_000
# Of each type of JSON Schema a value, for an example.
_EMPTY: dict[str, Any] = {
    "integer": 0,
    "number": 0,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


def open_effects(state: Execution) -> tuple[EffectUnknown, ...]:
    """The effects that a person is asked about, the one that the question names first."""
    return () if state.over else tuple(state.unknown.values())


def do_again(state: Execution, *, seen: int, note: str = "") -> EffectSettle:
    """Begin the effect that *state* asks about once more.

    Args:
        state: The asking execution, as it was shown.
        seen: Log position up to which the person has read.
        note: Why, for the record.

    Raises:
        SettlementError: It asks about none.
    """
    effect = _asked(state)
    return EffectSettle(
        execution_id=state.execution_id,
        effect_key=effect.effect_key,
        outcome="again",
        note=note,
        seen=seen,
    )


def it_happened(
    client: Client, blobs: Blobs, state: Execution, result: Any, *, seen: int, note: str = ""
) -> EffectSettle:
    """Use *result* as the outcome of the effect that *state* asks about.

    Args:
        client: Of the hub on which the action is announced.
        blobs: Store for the text of a tool's result.
        state: The asking execution, as it was shown.
        result: Of an action, as announced: a map, JSON of a map, or its only value.
            Of a tool, its text.
        seen: Log position up to which the person has read.
        note: For the record.

    Raises:
        SettlementError: It asks about no effect, or the result does not fit the action.
    """
    effect = _asked(state)
    again = do_again(state, seen=seen, note=note)
    if effect.kind == "tool":
        text = result if isinstance(result, str) else msgspec.json.encode(result).decode()
        data = text.encode(errors="replace")
        return msgspec.structs.replace(
            again,
            outcome="happened",
            told=blobs.put(data),
            excerpt=data.decode()[:EXCERPT_CHARS],
            bytes=len(data),
            lines=len(data.decode().splitlines()),
        )
    given = fitting(effect.name, result, declared_result(client, effect.name))
    return msgspec.structs.replace(again, outcome="happened", result=given)


def _asked(state: Execution) -> EffectUnknown:
    effects = open_effects(state)
    if not effects:
        raise SettlementError(
            f"execution {state.execution_id} asks about no effect: it is {state.status}"
        )
    return effects[0]


def declared_result(client: Client, action: str) -> dict[str, Any]:
    """JSON Schema of the result of *action*; empty where it promises nothing."""
    registry = registry_of(client.read_stream(STREAM), client.vocabulary.read)
    spec = registry.actions.get(action)
    return spec.result if spec else {}


def fitting(name: str, given: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """*given* as a result of *name*, which declares *schema*: a map, JSON of one, or its one value.

    Raises:
        SettlementError: It does not fit.
    """
    result = given
    if isinstance(given, str):
        try:
            result = msgspec.json.decode(given)
        except (msgspec.DecodeError, RecursionError):
            result = given
    fields = _fields(schema)
    if not isinstance(result, dict) and len(fields) == 1:
        result = {next(iter(fields)): result}
    problem = "it is one value" if not isinstance(result, dict) else None
    if problem is None and schema:
        problem = wrong_answer(result, schema)
    if problem is None:
        return dict(result)
    wanted = f"such as '{_example(fields)}'" if fields else "a map as its action gives it"
    raise SettlementError(
        f"the result of {name} is not as declared: {problem}; give JSON, {wanted}"
    )


def _fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    """JSON Schema of each field of a result."""
    reference = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    top = schema.get("$defs", {}).get(reference, schema) if reference else schema
    return dict(top.get("properties", {}))


def _example(fields: Mapping[str, Any]) -> str:
    """A result that a person can take and fill in."""
    values = {name: _EMPTY.get(str(each.get("type")), "") for name, each in fields.items()}
    return msgspec.json.encode(values).decode()
