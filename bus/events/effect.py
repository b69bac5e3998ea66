"""Effects in the world that may happen once only: begun, of unknown outcome, settled by a person.

A handler says of each action and tool what it does to the world: `none`, `read`, `idempotent` or
`once`. Before a `once` effect begins, that is on disk. If it began and its end was not
recorded, Cortex never repeats it: a person reports what happened.

| effect | what it does | after a kill, a lost worker, or an unexpected error |
|---|---|---|
| `none` | computes | Cortex runs it again |
| `read` | reads the world | Cortex runs it again |
| `idempotent` | changes it, once for a key however often it runs | Cortex runs it again, same key |
| `once` | changes it each time | never again by itself: Cortex asks a person what happened |
"""

from typing import Any, Literal, TypeAlias

from ..event import Event

Effect: TypeAlias = Literal["none", "read", "idempotent", "once"]

EFFECTS: tuple[Effect, ...] = ("none", "read", "idempotent", "once")
UNDECLARED: Effect = "once"  # of actions and tools that declare none
FREE: frozenset[Effect] = frozenset(("none", "read"))  # those that change nothing in the world


class EffectIntended(Event, frozen=True, kw_only=True, tag="effect.intended"):
    """An effect begins right after this; it is synced to disk, whatever the log's durability."""

    belongs = ("execution", "execution_id")
    routing = "component"
    personal = ()

    execution_id: str
    step_id: str
    attempt: int = 1
    effect_key: str  # it begins once under this key: "causing position/time/component/n"
    component: str  # the component that begins it
    kind: str  # "action" or "tool"
    name: str  # of the action or tool
    turn: int = 0  # for "tool"
    call_id: str = ""  # for "tool"


class EffectUnknown(Event, frozen=True, kw_only=True, tag="effect.unknown"):
    """An effect began and its end is unknown: Cortex asks a person."""

    belongs = ("execution", "execution_id")
    routing = "component"
    personal = ("reason", "parameters")

    execution_id: str
    step_id: str
    attempt: int = 1
    effect_key: str
    component: str
    kind: str
    name: str
    turn: int = 0
    call_id: str = ""
    began_ns: int = 0  # UTC, when it was requested or began
    reason: str  # one line: why its end is unknown
    parameters: dict[str, Any] = {}  # of the action, or arguments of the tool
    trace: str = ""  # digest of the blob that holds the traceback, if its handler failed


class EffectSettle(Event, frozen=True, kw_only=True, tag="effect.settle"):
    """Say how an effect of unknown outcome ended."""

    belongs = ("execution", "execution_id")
    personal = ("result", "excerpt", "note")

    execution_id: str
    effect_key: str  # as in the question
    outcome: str  # "happened": use the result; "again": begin it once more
    result: dict[str, Any] = {}  # of an action that happened; fits its announced result
    told: str = ""  # of a tool that happened: digest of the blob with its output
    excerpt: str = ""  # beginning of that output
    bytes: int = 0
    lines: int = 0
    note: str = ""
    seen: int = 0  # position up to which the log was read before this was decided


class EffectSettled(Event, frozen=True, kw_only=True, tag="effect.settled"):
    """A person said how an effect ended."""

    belongs = ("execution", "execution_id")
    personal = ("note",)

    execution_id: str
    step_id: str
    attempt: int = 1
    effect_key: str
    outcome: str  # "happened" or "again"
    by: str  # the client that said so, as the hub authenticated it
    turn: int = 0
    call_id: str = ""
    note: str = ""


def effect_of(said: object, otherwise: Effect = UNDECLARED) -> Effect:
    """The declared effect *said*; *otherwise* if that is not a valid effect."""
    for each in EFFECTS:
        if each == said:
            return each
    return otherwise
