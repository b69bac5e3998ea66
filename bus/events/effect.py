"""Effects in the world that may happen once only: begun, of unknown outcome, settled by a person.

A handler says of each action and tool what it does to the world: `none`, `read`, `idempotent` or
`once`. Before one that is `once` is begun, that is on disk. Where it was begun and nobody recorded
how it ended, nothing repeats it: a person says what happened.
"""

from typing import Any

from ..event import Event


class EffectIntended(Event, frozen=True, kw_only=True, tag="effect.intended"):
    """An effect begins right after this; it is synced to disk, whatever the log's durability."""

    belongs = ("execution", "execution_id")
    routing = "component"

    execution_id: str
    step_id: str
    attempt: int = 1
    effect_key: str  # under which it is begun once: "causing position/time/component/n"
    component: str  # who begins it
    kind: str  # "action" or "tool"
    name: str  # of the action or tool
    turn: int = 0  # for "tool"
    call_id: str = ""  # for "tool"


class EffectUnknown(Event, frozen=True, kw_only=True, tag="effect.unknown"):
    """An effect began and nobody knows how it ended: Cortex asks a person."""

    belongs = ("execution", "execution_id")
    routing = "component"

    execution_id: str
    step_id: str
    attempt: int = 1
    effect_key: str
    component: str
    kind: str
    name: str
    turn: int = 0
    call_id: str = ""
    began_ns: int = 0  # UTC, when it was asked for or begun
    reason: str  # one line: why nobody knows
    parameters: dict[str, Any] = {}  # of the action, or arguments of the tool
    trace: str = ""  # digest of the blob that holds the traceback, where its handler broke off


class EffectSettle(Event, frozen=True, kw_only=True, tag="effect.settle"):
    """Say how an effect of unknown outcome ended."""

    belongs = ("execution", "execution_id")

    execution_id: str
    effect_key: str  # as the question names it
    outcome: str  # "happened": take the result; "again": begin it once more
    result: dict[str, Any] = {}  # of an action that happened; fits its announced result
    told: str = ""  # of a tool that happened: digest of the blob that holds what it gave
    excerpt: str = ""  # beginning of that
    bytes: int = 0
    lines: int = 0
    note: str = ""
    seen: int = 0  # position up to which the log was read before this was decided


class EffectSettled(Event, frozen=True, kw_only=True, tag="effect.settled"):
    """A person said how an effect ended."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    effect_key: str
    outcome: str  # "happened" or "again"
    by: str  # the client that said so, as the hub authenticated it
    turn: int = 0
    call_id: str = ""
    note: str = ""
