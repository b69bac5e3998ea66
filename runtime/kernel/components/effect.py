"""The effect contract: which events request an effect that may happen only once, or under a key.

For an effect that may happen only once, the feed records `effect.intended`, and that record is on
disk before the handler runs. The hub accepts one for each effect, so if two workers hold the event,
only one begins it. An effect that is repeated under a key begins when the event from which the key
is made is on disk. Otherwise a power loss could lose that event, which would come again with
another key.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from cortex.bus import Draft, Effect, Recorded, effect_of
from cortex.bus.events import RECORD, EffectIntended, EffectUnknown, StepExecute, ToolCall

KEYED: Final = "idempotent"

_STEP, _TOOL = StepExecute.topic_name(), ToolCall.topic_name()
_READ_STEP = msgspec.msgpack.Decoder(StepExecute).decode
_READ_TOOL = msgspec.msgpack.Decoder(ToolCall).decode


class Begun(msgspec.Struct, frozen=True):
    """An effect, with the fields that its events share."""

    execution_id: str
    step_id: str
    attempt: int
    effect_key: str
    component: str
    kind: str
    name: str
    turn: int
    call_id: str
    parameters: dict[str, Any]

    @classmethod
    def of(cls, asked: StepExecute | ToolCall, key: str, component: str) -> "Begun":
        """The effect that *asked* requests."""
        place = asked.execution_id, asked.step_id, asked.attempt, key, component
        if isinstance(asked, StepExecute):
            return cls(*place, "action", asked.action, 0, "", asked.parameters)
        call = asked.turn, asked.call_id, asked.arguments
        return cls(*place, "tool", asked.tool, *call)

    def intended(self) -> EffectIntended:
        """The event that it is about to begin."""
        said = msgspec.structs.asdict(self)
        del said["parameters"]
        return EffectIntended(**said)

    def unknown(self, reason: str, began_ns: int, trace: str = "") -> EffectUnknown:
        """The event that it began, and its end is unknown."""
        said = msgspec.structs.asdict(self)
        return EffectUnknown(**said, reason=reason, began_ns=began_ns, trace=trace)


class Contract:
    """Says which events of a component request an effect that must not simply be repeated.

    Args:
        component: The component's name.
        actions: Effect by action that it handles; it only watches all others.
        tools: Effect by tool that it announces; for others, as those of servers, the call has it.
        uses_tools: Whether it handles calls of tools.
        recovers: Whether its handler finds out the outcome of an effect that began.
    """

    def __init__(
        self,
        component: str,
        actions: Mapping[str, Effect],
        tools: Mapping[str, Effect],
        *,
        uses_tools: bool,
        recovers: bool = False,
    ) -> None:
        self._component = component
        self._actions, self._tools, self._uses_tools = actions, tools, uses_tools
        self.recovers = recovers
        self.keyed = KEYED in actions.values() or (
            uses_tools and (not tools or KEYED in tools.values())
        )  # whether some may be repeated under their key

    def is_once(self, record: Recorded) -> bool:
        """Whether the effect that *record* requests may happen only once."""
        return self._effect(record) == "once"

    def is_keyed(self, records: Iterable[Recorded]) -> bool:
        """Whether one of *records* requests an effect that is repeated under its key."""
        return self.keyed and any(self._effect(record) == KEYED for record in records)

    def _effect(self, record: Recorded) -> Effect | None:
        if record.key == RECORD:
            return None  # its answer is on record
        if record.topic == _STEP:
            return self._actions.get(record.key or "")
        if record.topic != _TOOL or not self._uses_tools:
            return None
        asked = _READ_TOOL(record.body)
        return self._tools.get(asked.tool, effect_of(asked.effect))

    def begun(self, record: Recorded) -> Begun:
        """The effect that *record* requests."""
        asked = (_READ_STEP if record.topic == _STEP else _READ_TOOL)(record.body)
        return Begun.of(asked, self._key(record), self._component)

    def intended(self, record: Recorded) -> Draft:
        """The event that the effect is about to begin."""
        event = self.begun(record).intended()
        return Draft.of(event, correlation=record.correlation, causation=record.position)

    def unknown(self, record: Recorded, reason: str, trace: str = "") -> Draft:
        """The event that the effect's end is unknown; *trace* is a blob's digest."""
        event = self.begun(record).unknown(reason, record.time_ns, trace)
        return Draft.of(event, correlation=record.correlation, causation=record.position)

    def _key(self, record: Recorded) -> str:
        return key_of(record.position, record.time_ns, self._component)


def key_of(position: int, time_ns: int, component: str, n: int = 0) -> str:
    """The idempotency key of the *n*-th effect of *component* for an event.

    It contains the time, because a log that was restored from a backup assigns positions
    again.
    """
    return f"{position}/{time_ns}/{component}/{n}"
