"""The fold of an attempt that asks a model: prompts, answers, and the tools it was asked for.

A turn is one prompt and its answer. The first has the number 0; a turn that comes after tools were
used, or after an answer that did not fit, has the next one in the same attempt.
"""

from typing import Final

from msgspec.structs import replace

from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ContextRefused,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    ToolCall,
    ToolDenied,
    ToolEnabled,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.models import Usage

from . import folds
from .asked import names_of
from .spending import added, tokens_of, usage_of_answer
from .state import EFFECT, Execution, answers, without

# Temporary failures of a model: the same prompt is sent again.
PASSING: Final = frozenset(("rate_limited", "overloaded", "unreachable", "cut_off"))
MODEL_CALLS: Final = 5  # of one prompt; then the attempt fails


def another_turn(state: Execution, event: ContextCompile) -> Execution:
    """The next prompt of the attempt is compiled."""
    here = (state.status, state.step_id, state.attempt, state.turn + 1)
    if here != ("running", event.step_id, event.attempt, event.turn):
        return state
    if state.stage not in ("answered", "tools"):
        return state
    if state.pursuit is not None and state.pursuit.step_id == event.step_id:
        claims = state.pursuit.claims + 1 if event.verdict else 0
        pursuit = replace(state.pursuit, away=False, claims=claims, note="")
        state = replace(state, pursuit=pursuit)
    return replace(
        state,
        stage="context",
        turn=event.turn,
        call=0,
        compiled=None,
        answer={},
        stop="",
        open_calls={},
        callees={},
        problems=state.problems + bool(event.problem),
        unfit=event.unfit,
    )


def is_again(state: Execution, event: ContextCompile) -> bool:
    """Whether a prompt that was not sent yet is compiled once more."""
    return not event.new_edits and answers(state, event, "compiled", "waiting")


def compiled_again(state: Execution) -> Execution:
    """The same prompt is compiled once more, for what people laid down changed."""
    return replace(state, stage="context", compiled=None, call=0)


def compiled(state: Execution, event: ContextCompiled, _: int) -> Execution:
    """The prompt is ready."""
    if not answers(state, event, "context"):
        return state
    return replace(state, stage="compiled", compiled=event)


def refused(state: Execution, event: ContextRefused, _: int) -> Execution:
    """There is no prompt; the attempt knows why until the `step.failed` that follows."""
    if not answers(state, event, "context"):
        return state
    return replace(folds.refused(state), reason=event.reason)


def invoked(state: Execution, event: ModelInvoke, _: int) -> Execution:
    """The prompt was sent, for the first time or again."""
    if not answers(state, event, "compiled", "waiting"):
        return state
    sent = state.sent_prompts
    if event.call == 1 and not event.recorded and state.begun().variation is not None:
        sent = (*sent, event.prompt)
    names = names_of(event)
    return replace(state, stage="model", call=event.call, asked=names, sent_prompts=sent)


def responded(state: Execution, event: ModelResponded, _: int) -> Execution:
    """The model answered."""
    prompt = state.compiled
    if not answers(state, event, "model") or prompt is None or event.call != state.call:
        return state
    usage = usage_of_answer(event)
    if tokens_of(usage) == event.output_tokens:  # it does not say what it read
        usage = replace(usage, input=prompt.tokens)
    took = _charged(state, usage, event.cost)
    sent = state.sent + (0.0 if event.recorded or _planned(state) else max(0.0, event.cost))
    return replace(took, stage="answered", answer=event.answer, stop=event.stop, sent=sent)


def model_failed(state: Execution, event: ModelFailed, _: int) -> Execution:
    """The model did not answer; after a temporary failure it is asked again."""
    if not answers(state, event, "model") or event.call != state.call:
        return state
    passes = event.retry and event.kind in PASSING and event.call < MODEL_CALLS
    took = _charged(state, usage_of_answer(event), event.cost)
    sent = state.sent + (0.0 if event.recorded or _planned(state) else max(0.0, event.cost))
    return replace(took, stage="waiting" if passes else "model", reason=event.error, sent=sent)


def called(state: Execution, event: ToolCall | ToolDenied, _: int) -> Execution:
    """A tool was asked for, or refused at once."""
    if not answers(state, event, "answered", "tools"):
        return state
    opened, callees = state.open_calls, state.callees
    if isinstance(event, ToolCall):
        opened = {**opened, event.call_id: event.tool}
        callees = {**callees, event.call_id: names_of(event)}
    return replace(
        state,
        stage="tools",
        open_calls=opened,
        callees=callees,
        call_ids=state.call_ids | {event.call_id},
    )


def enabled(state: Execution, event: ToolEnabled, _: int) -> Execution:
    """A pack is shown in full from the next turn on."""
    if not answers(state, event, "answered", "tools"):
        return state
    return replace(state, stage="tools", enabled=(*state.enabled, event.pack))


def told(state: Execution, event: ToolReturned | ToolFailed | ToolDenied, _: int) -> Execution:
    """What came of a call, maybe while a person is asked about another one."""
    asking = state.status == "paused" and state.reason == EFFECT
    there = replace(state, status="running") if asking else state
    if not answers(there, event, "tools") or event.call_id not in state.open_calls:
        return state
    over = [key for key, each in state.effects.items() if each.call_id == event.call_id]
    return replace(
        state,
        open_calls=without(state.open_calls, event.call_id),
        callees={call: names for call, names in state.callees.items() if call != event.call_id},
        effects={key: each for key, each in state.effects.items() if key not in over},
        unknown={key: each for key, each in state.unknown.items() if key not in over},
    )


def _planned(state: Execution) -> bool:
    """Whether a person agreed to send the prompt at hand before the what-if began."""
    variation = state.begun().variation if state.started is not None else None
    if variation is None or state.compiled is None:
        return True  # nothing is planned: what is sent is no matter
    prompt = state.compiled.prompt
    return variation.prompts.count(prompt) >= state.sent_prompts.count(prompt)


def _charged(state: Execution, usage: Usage, cost: float) -> Execution:
    """*state*, after a call that took *usage*; no call ever pays anything back."""
    tokens, paid = tokens_of(usage), max(0.0, cost)
    return replace(
        state,
        tokens=state.tokens + tokens,
        own_tokens=state.own_tokens + tokens,
        usage=added(state.usage, usage),
        own_usage=added(state.own_usage, usage),
        cost=state.cost + paid,
        own_cost=state.own_cost + paid,
        attempt_tokens=state.attempt_tokens + tokens,
        attempt_cost=state.attempt_cost + paid,
    )
