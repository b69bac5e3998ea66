"""The effect contract: which events request an effect that may happen only once, or under a key.

For an effect that may happen only once, the feed records `effect.intended`, and that record is on
disk before the handler runs. The hub accepts one for each effect, so if two workers hold the event,
only one begins it. An effect that is repeated under a key begins when the event from which the key
is made is on disk. Otherwise a power cut could lose that event, and it would come again with
another key.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from cortex.bus import Draft, Effect, Recorded, effect_of
from cortex.bus.events import EffectIntended, EffectUnknown, StepExecute, ToolCall

KEYED: Final = "idempotent"

_STEP, _TOOL = StepExecute.topic_name(), ToolCall.topic_name()
_READ_STEP = msgspec.msgpack.Decoder(StepExecute).decode
_READ_TOOL = msgspec.msgpack.Decoder(ToolCall).decode


class Begun(msgspec.Struct, frozen=True):
    """An effect that is begun: what its events say of it."""

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
        """The effect that *asked* asks for."""
        place = asked.execution_id, asked.step_id, asked.attempt, key, component
        if isinstance(asked, StepExecute):
            return cls(*place, "action", asked.action, 0, "", asked.parameters)
        call = asked.turn, asked.call_id, asked.arguments
        return cls(*place, "tool", asked.tool, *call)

    def intended(self) -> EffectIntended:
        """It is about to begin."""
        said = msgspec.structs.asdict(self)
        del said["parameters"]
        return EffectIntended(**said)

    def unknown(self, reason: str, began_ns: int, trace: str = "") -> EffectUnknown:
        """It was begun, and nobody knows how it ended."""
        said = msgspec.structs.asdict(self)
        return EffectUnknown(**said, reason=reason, began_ns=began_ns, trace=trace)


class Contract:
    """Which of the events that a component handles ask for an effect that may not just be repeated.

    Args:
        component: Its name.
        actions: Effect by action that it handles; it only watches those that are not in here.
        tools: Effect by tool that it announces; of others, as of those of servers, the call says.
        uses_tools: Whether it handles calls of tools.
        recovers: Whether its handler finds out itself what came of an effect that was begun.
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
        )  # whether some of them may be repeated under their key

    def is_once(self, record: Recorded) -> bool:
        """Whether what *record* asks for may happen once only."""
        return self._effect(record) == "once"

    def is_keyed(self, records: Iterable[Recorded]) -> bool:
        """Whether one of *records* asks for what is repeated under its key."""
        return self.keyed and any(self._effect(record) == KEYED for record in records)

    def _effect(self, record: Recorded) -> Effect | None:
        if record.topic == _STEP:
            return self._actions.get(record.key or "")
        if record.topic != _TOOL or not self._uses_tools:
            return None
        asked = _READ_TOOL(record.body)
        return self._tools.get(asked.tool, effect_of(asked.effect))

    def begun(self, record: Recorded) -> Begun:
        """The effect that *record* asks for."""
        asked = (_READ_STEP if record.topic == _STEP else _READ_TOOL)(record.body)
        return Begun.of(asked, self._key(record), self._component)

    def intended(self, record: Recorded) -> Draft:
        """That the effect is about to begin."""
        event = self.begun(record).intended()
        return Draft.of(event, correlation=record.correlation, causation=record.position)

    def unknown(self, record: Recorded, reason: str, trace: str = "") -> Draft:
        """That nobody knows how the effect ended; *trace* is a blob's digest."""
        event = self.begun(record).unknown(reason, record.time_ns, trace)
        return Draft.of(event, correlation=record.correlation, causation=record.position)

    def _key(self, record: Recorded) -> str:
        return key_of(record.position, record.time_ns, self._component)


def key_of(position: int, time_ns: int, component: str, n: int = 0) -> str:
    """The idempotency key of the *n*-th effect of what *component* does for an event.

    The time is in it, since a log that was brought back from a backup counts its positions once
    more.
    """
    return f"{position}/{time_ns}/{component}/{n}"
