"""The policy of a hub that serves agents: the meaning of steps, tool calls and model calls.

A worker could still write for a step of an execution that has ended. So waiting work is dropped
in the transaction that records the end; work that is leased then is dropped when it would be leased
again. So is the step of an attempt that failed meanwhile, for example by its timeout: the next
attempt has its own request. Of two workers that lease the same event one after the other, only
one begins an effect that may happen only once, and none does after the attempt ended.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from cortex.bus import (
    BegunError,
    Draft,
    Event,
    EventInvalidError,
    Log,
    Recorded,
    decode,
    root_of,
)
from cortex.bus.events import (
    ComponentFailed,
    ComponentRetry,
    EffectIntended,
    EffectUnknown,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionRequest,
    ModelInvoke,
    ModelUnclaimed,
    StepExecute,
    StepFailed,
    StepUnclaimed,
    ToolCall,
    ToolFailed,
    ToolReturned,
    TriggerReceived,
)

STEP, FAILED, INVOKE = (e.topic_name() for e in (StepExecute, StepFailed, ModelInvoke))
INTENDED = EffectIntended.topic_name()  # clients may publish it only synced, and so checked
ENDS = frozenset(e.topic_name() for e in (ExecutionCancelled, ExecutionCompleted, ExecutionFailed))
ASKS = frozenset((STEP, ToolCall.topic_name()))  # requests with effects
# Events with a `workspace` that clients other than the runtime may publish.
PLACED = ASKS | {ExecutionRequest.topic_name(), TriggerReceived.topic_name()}
BEGINNINGS = frozenset((INTENDED, EffectUnknown.topic_name()))
ANSWERS = frozenset((ToolFailed.topic_name(), ToolReturned.topic_name()))
PAGE = 256


class _Attempt(msgspec.Struct):
    """The common fields of requests, intents and answers."""

    step_id: str = ""
    attempt: int = 1
    call_id: str = ""
    effect_key: str = ""


_READ = msgspec.msgpack.Decoder(_Attempt).decode


class AgentWork:
    """The `WorkPolicy` of a hub that serves agents; see the module's docstring."""

    reported = frozenset((STEP, INVOKE))
    watched = STEP
    cancellable = effects = ASKS
    ends = ENDS
    placed = PLACED
    begins = BEGINNINGS
    synced = INTENDED
    retried = ComponentRetry.topic_name()

    def failed(self, reason: str) -> Event:
        """The event `component.failed`, for a component called "hub"."""
        return ComponentFailed(component="hub", reason=reason)

    def stalled(self, topic: str, body: bytes, waited_s: float) -> Event:
        """`step.unclaimed` or `model.unclaimed`, about the request with this body."""
        if topic == STEP:
            step = msgspec.msgpack.decode(body, type=StepExecute)
            return StepUnclaimed(
                execution_id=step.execution_id,
                step_id=step.step_id,
                action=step.action,
                waited_s=waited_s,
            )
        call = msgspec.msgpack.decode(body, type=ModelInvoke)
        return ModelUnclaimed(
            execution_id=call.execution_id,
            step_id=call.step_id,
            attempt=call.attempt,
            turn=call.turn,
            call=call.call,
            model=call.model,
            provider=call.provider,
            reason=f"no component answers for {call.model} as the provider {call.provider!r}",
        )

    def takes_back(self, later: Recorded, asked: Recorded, parties: frozenset[str]) -> bool:
        """Whether the execution ended, or the attempt of *asked* has failed since."""
        if later.topic in ENDS:
            return True
        if later.topic != FAILED or asked.topic != STEP or root_of(later.source) not in parties:
            return False
        return _same_attempt(_READ(later.body), _READ(asked.body))

    def refuse_begun(
        self,
        client: str,
        events: Iterable[Draft],
        record: Callable[[int], Recorded],
        head: int,
        log: Log,
        staged: Iterable[Recorded],
    ) -> None:
        """Refuse intents of effects that began before, or are no longer wanted."""
        for draft in events:
            if draft.topic != INTENDED:
                continue
            cause = draft.causation or 0
            asked = record(cause) if 0 < cause <= head else None
            key = _READ(draft.body).effect_key
            if asked is None or asked.topic not in ASKS or asked.stream != draft.stream:
                raise EventInvalidError(INTENDED, "its cause is not a request of its execution")
            if not key.startswith(f"{asked.position}/{asked.time_ns}/"):
                raise EventInvalidError(
                    INTENDED, f"{key[:80]!r} is not a key of an effect of its cause"
                )
            fresh = (each for each in staged if each.stream == asked.stream)
            parties = frozenset(map(root_of, (client, asked.source)))
            for later in (*_after(log, asked), *fresh):
                if root_of(later.source) not in parties and later.topic not in ENDS:
                    continue
                if later.topic == INTENDED and _READ(later.body).effect_key == key:
                    raise BegunError(key, "begun")
                if _ends_effect(later, _READ(asked.body)):
                    raise BegunError(key, "unwanted")


def takes_back(later: Recorded, asked: Recorded) -> bool:
    """Whether *later*, from the requester and in its stream, withdraws *asked*."""
    return AgentWork().takes_back(later, asked, frozenset((root_of(asked.source),)))


def _ends_effect(later: Recorded, asked: _Attempt) -> bool:
    if later.topic == FAILED:
        return _same_attempt(_READ(later.body), asked)
    if later.topic in ANSWERS:
        return bool(asked.call_id) and _READ(later.body).call_id == asked.call_id
    return later.topic in ENDS


def _same_attempt(failed: _Attempt, asked: _Attempt) -> bool:
    return failed.step_id == asked.step_id and failed.attempt >= asked.attempt


def _after(log: Log, asked: Recorded) -> Iterator[Recorded]:
    after = asked.version
    while page := log.read_stream(asked.stream, after, PAGE):
        for each in map(decode, page):
            after = each.version
            yield each
