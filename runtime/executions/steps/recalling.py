"""What a fork or a what-if takes from the record, what it changes, and what a person must agree to.

A fork takes what actions and tools returned. A what-if takes everything that is on record: answers
of models and gates, and failures, too. Once it has an effect of its own, what reads the world is
asked of the world again: the record no longer tells how that is.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from cortex.bus import FREE, Event
from cortex.bus.events import (
    ContextCompile,
    GateEvaluate,
    KnowledgeRequest,
    MemoryRequest,
    ModelInvoke,
    StepExecute,
    ToolCall,
    Variation,
)

from ..state.asked import RECORDS
from ..state.recorded_calls import Path, RecordedCall, RecordedCalls, joined_path, part_of_path
from ..state.spending import dollars
from ..state.state import Execution
from ..state.values import clipped

ANY: Final = "*"  # among the prompts that a person agreed to: all of them, as in a plan
TEXTS: Final = ("persona", "instructions", "strategy")  # of a prompt, that may be other
CALLS: Final = StepExecute | ToolCall | GateEvaluate | ModelInvoke


def variation_of(state: Execution) -> Variation | None:
    """How *state* uses the record of another execution; None if it does not."""
    return state.started.variation if state.started is not None else None


def recalled(state: Execution, request: Event, recorded: RecordedCalls, effect: str = "") -> Event:
    """*request* with what the record has for it, and with what the what-if changes.

    Args:
        state: Of the execution that asks.
        request: Addressed to who serves it.
        recorded: The record.
        effect: On the world, of an action or a tool.
    """
    variation = variation_of(state)
    if variation is None:
        return request
    if isinstance(request, KnowledgeRequest | MemoryRequest | ContextCompile):
        return _varied(state, request, recorded, variation) if variation.what_if else request
    if not isinstance(request, CALLS):
        return request
    call = _recorded_call(state, request, recorded, variation, effect)
    if call is not None:
        return _from_record(request, call)
    if isinstance(request, StepExecute | ToolCall) and effect not in FREE:
        return replace(request, anew=True)
    return request


def effect_question(
    state: Execution, recorded: RecordedCalls | None, request: StepExecute | ToolCall, effect: str
) -> str:
    """What a person is asked before an effect that is not on record; "" if nobody has to be."""
    variation = variation_of(state)
    if recorded is None or variation is None or state.agreed or effect in FREE:
        return ""
    if variation.allow or _is_on_record(state, request, recorded, effect):
        return ""
    if isinstance(request, StepExecute):
        name, given = f"action {request.action}", request.parameters
    else:
        name, given = f"tool {request.tool}", request.arguments
    asked = clipped(msgspec.json.encode(given).decode())
    return (
        f"Step {request.step_id} of this {'what-if' if variation.what_if else 'fork'} would have "
        f"an effect that is not on record: {name} {asked}. Shall it happen?"
    )


def prompt_question(state: Execution, recorded: RecordedCalls | None, request: ModelInvoke) -> str:
    """What a person is asked before a prompt is sent; "" if it is on record, or agreed to."""
    variation, compiled = variation_of(state), state.compiled
    if recorded is None or variation is None or compiled is None or not variation.what_if:
        return ""
    if (
        state.agreed
        or _is_planned(state, variation, request.prompt)
        or _is_on_record(state, request, recorded)
    ):
        return ""
    if state.call and state.asked != (RECORDS,):
        return ""  # it was sent before, and the endpoint was busy
    most, budget = compiled.most, variation.budget
    if budget is not None and most is not None and state.sent + most <= budget:
        return ""
    price = "unknown" if most is None else f"at most {dollars(most)}"
    over = "" if budget is None else ", which the budget does not cover"
    return (
        f"A prompt of step {request.step_id} is not on record: {compiled.tokens:,} tokens for "
        f"{request.model}, price {price}{over}. Shall it be sent?"
    )


def waited(state: Execution, wait_s: float) -> float:
    """The wait after a failure: none if the failure is from the record, which waited then."""
    return 0.0 if state.asked == (RECORDS,) else wait_s


def _is_planned(state: Execution, variation: Variation, prompt: str) -> bool:
    """Whether a person agreed to send *prompt* once more before the what-if began."""
    planned = variation.prompts.count(prompt)
    return ANY in variation.prompts or planned > state.sent_prompts.count(prompt)


def inherited(
    state: Execution, step_id: str, attempt: int, purpose: str = "step", item: int = 0
) -> Variation | None:
    """The variation of a child or an item of *state*; the budget is for *state* alone."""
    variation = variation_of(state)
    if variation is None:
        return None
    path = (*variation.path, part_of_path(step_id, attempt, purpose, item))
    prompts = variation.prompts
    if ANY not in prompts:  # what was agreed for one execution of a family is no other's
        prompts = variation.within.get(joined_path(path), ())
    return replace(variation, budget=None, position=0, path=path, prompts=prompts)


def _is_on_record(
    state: Execution, request: Event, recorded: RecordedCalls, effect: str = ""
) -> bool:
    """Whether the record answers *request*, so that nobody is asked and nothing happens."""
    return getattr(recalled(state, request, recorded, effect), "recorded", 0) > 0


def _recorded_call(
    state: Execution, request: Any, recorded: RecordedCalls, variation: Variation, effect: str
) -> RecordedCall | None:
    acts = isinstance(request, StepExecute | ToolCall)
    if not acts and not variation.what_if:
        return None
    reads = isinstance(request, GateEvaluate) or (acts and effect == "read")
    if reads and state.anew:
        return None
    calls = recorded.answers(request)
    if not variation.what_if:
        calls = tuple(call for call in calls if not call.failed)
    near = _nearest(calls, variation.path, request.step_id)
    fresh = [call for call in near if call.position not in state.recalled]
    if fresh:
        return fresh[0]
    return near[-1] if near and (not acts or effect in FREE) else None  # the last one again


def _nearest(calls: Sequence[RecordedCall], path: Path, step_id: str) -> Sequence[RecordedCall]:
    """Those of *calls* in the same step, in the same execution, or all of them."""
    own = [call for call in calls if call.path == path]
    return [call for call in own if call.step == step_id] or own or calls


def _from_record(request: Any, call: RecordedCall) -> Event:
    asked = {"recorded": call.position, "component": RECORDS}
    if "host" in request.__struct_fields__:
        asked["host"] = ""
    found: Event = replace(request, **asked)
    return found


def _varied(
    state: Execution,
    request: KnowledgeRequest | MemoryRequest | ContextCompile,
    recorded: RecordedCalls,
    variation: Variation,
) -> Event:
    if isinstance(request, KnowledgeRequest | MemoryRequest):
        return replace(request, found="" if state.anew else recorded.search(request))
    place = variation.path, request.step_id, request.attempt, request.turn
    position, then = recorded.compiled.get(place, (0, None))
    model, by = request.model, ""
    if then is not None and not model:
        model, by = then.model, "record"
    text = {"recorded": then.inputs} if then is not None and then.inputs else {}
    knowledge = tuple({**topic, **text} for topic in request.knowledge)
    asked = replace(request, priced=True, model=model, model_by=by, knowledge=knowledge)
    if 0 < position <= variation.position:
        return asked
    return _changed(asked, variation)


def _changed(request: ContextCompile, variation: Variation) -> ContextCompile:
    policy = variation.policy
    budget = {"tokens": policy["tokens"]} if "tokens" in policy else {}
    if sections := policy.get("sections"):
        budget["sections"] = {**dict(request.budget.get("sections", ())), **sections}
    texts = {name: str(policy[name]) for name in TEXTS if name in policy}
    other = variation.knowledge
    named = variation.models.get(request.step_id, variation.models.get("", ""))
    return replace(
        request,
        model=named or request.model,
        model_by="named" if named else request.model_by,
        knowledge=tuple(
            {**topic, "recorded": "", **other[name]} if (name := topic["topic"]) in other else topic
            for topic in request.knowledge
        ),
        budget={**request.budget, **budget},
        **texts,
    )
