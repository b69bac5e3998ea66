"""Effects that may happen once only: the hub appends one intent for each, while somebody wants it.

Of two workers that hold the same event one after the other, only one begins its effect; and none
does that comes after the attempt was given up, as by its timeout.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from .errors import BegunError, EventInvalidError
from .event import Draft, Recorded, decode
from .events.effect import EffectIntended, EffectUnknown
from .events.step import StepExecute, StepFailed
from .events.tool import ToolCall, ToolFailed, ToolReturned
from .limits import root_of
from .log import Log
from .moot import ENDS

ASKS = frozenset((StepExecute.topic_name(), ToolCall.topic_name()))  # what has effects
BEGINNINGS = frozenset((EffectIntended.topic_name(), EffectUnknown.topic_name()))
INTENDED = EffectIntended.topic_name()  # of a client, only where it is synced, and so looked at
_FAILED = StepFailed.topic_name()
_TOLD = frozenset((ToolFailed.topic_name(), ToolReturned.topic_name()))
_PAGE = 256


class _Place(msgspec.Struct):
    """What the bodies of requests, intents and answers have in common."""

    step_id: str = ""
    attempt: int = 1
    call_id: str = ""
    effect_key: str = ""


_READ = msgspec.msgpack.Decoder(_Place).decode


def refuse_begun(
    client: str,
    events: Iterable[Draft],
    record: Callable[[int], Recorded],
    head: int,
    log: Log,
    staged: Iterable[Recorded],
) -> None:
    """Refuse intents of effects that were begun before, or that nobody wants any more.

    Args:
        client: Who is to begin them. What others say of an effect does not count, but for whoever
            asked for it.
        events: What is to be appended.
        record: The durable event at a position, which is there.
        head: The last position that is there.
        log: Where it is looked what was said since.
        staged: What the log will have next.

    Raises:
        BegunError: One of them was begun, or is not wanted.
        EventInvalidError: One of them is not about the event that it names as its cause.
    """
    for draft in events:
        if draft.topic != INTENDED:
            continue
        cause = draft.causation or 0
        asked = record(cause) if 0 < cause <= head else None
        key = _READ(draft.body).effect_key
        if asked is None or asked.topic not in ASKS or asked.stream != draft.stream:
            raise EventInvalidError(INTENDED, "its cause is no request of its execution")
        if not key.startswith(f"{asked.position}/{asked.time_ns}/"):
            raise EventInvalidError(INTENDED, f"{key[:80]!r} is no key of what it is caused by")
        fresh = (each for each in staged if each.stream == asked.stream)
        parties = frozenset(map(root_of, (client, asked.source)))
        for later in (*_after(log, asked), *fresh):
            if root_of(later.source) not in parties and later.topic not in ENDS:
                continue
            if later.topic == INTENDED and _READ(later.body).effect_key == key:
                raise BegunError(key, "begun")
            if _takes_back(later, _READ(asked.body)):
                raise BegunError(key, "unwanted")


def _takes_back(later: Recorded, asked: _Place) -> bool:
    if later.topic == _FAILED:
        failed = _READ(later.body)
        return failed.step_id == asked.step_id and failed.attempt >= asked.attempt
    if later.topic in _TOLD:
        return bool(asked.call_id) and _READ(later.body).call_id == asked.call_id
    return later.topic in ENDS


def _after(log: Log, asked: Recorded) -> Iterator[Recorded]:
    after = asked.version
    while page := log.read_stream(asked.stream, after, _PAGE):
        for each in map(decode, page):
            after = each.version
            yield each
