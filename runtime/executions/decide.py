"""What an execution does about an event that is already folded into its state.

A fact is answered only if it changed something. Requests (those of people are in `control`) and the
facts of children are compared with the current state. If one does not fit, it is late or repeated,
and nothing happens.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cortex.bus import Event
from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ContextEdit,
    ContextRefused,
    EffectIntended,
    EffectSettle,
    EffectUnknown,
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionCharged,
    ExecutionCompleted,
    ExecutionEdit,
    ExecutionFailed,
    ExecutionFinish,
    ExecutionHalted,
    ExecutionPause,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionRequest,
    ExecutionResume,
    ExecutionResumed,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    KnowledgeRequest,
    KnowledgeRequested,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepExecute,
    StepFailed,
    StepPropose,
    StepSettle,
    StepUnclaimed,
    StepWake,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.kernel import Delivery, Output
from cortex.runtime.processes import LinkedProcess
from cortex.runtime.registry import Registry

from . import control, pursuing, recovery, settlement
from .asked import ANSWERS, Names, Serving, asked_for, ignored_as, nobody, speaks_for
from .changing import change
from .children import after_child
from .dialogue import Offers
from .evolve import INPUTS, evolve
from .outbox import Outbox
from .speakers import ENGINE
from .state import ATTEMPTING, DELEGATED, Execution, Stage, answers
from .step_sequencer import StepSequencer

# The process of what has none: ad-hoc work, and an execution that has not started.
NO_PROCESS = LinkedProcess(name="", version=0, digest="", source_digest="", chain=(), steps=())

GRACE_S = 5.0  # a handler that keeps to its own time needs a moment to say how it ended

_ASKS: Mapping[type[Event], Stage] = {
    GateEvaluate: "gate",
    KnowledgeRequest: "knowledge",
    ContextCompile: "context",
    ModelInvoke: "model",
    ToolCall: "tools",
    StepExecute: "handler",
}


NO_TOOLS = Offers(lambda _: Registry())  # where nobody offers any


def advance(
    state: Execution,
    event: Event,
    process: LinkedProcess,
    delivery: Delivery,
    offers: Offers = NO_TOOLS,
    serves: Serving = nobody,
) -> tuple[Execution, list[Output]]:
    """The execution after *event* and all that it says about it, and what it says.

    *offers* says what there is of the tools that a step lists, when *event* was recorded, and
    *serves* who serves what then.
    """
    after = evolve(state, event, delivery.time_ns, source=delivery.source)
    if after is state and type(event) in INPUTS and not isinstance(event, ExecutionFailed):
        return ignore(state, event, asked_for(state, event), delivery)
    voice = Outbox(after, delivery, serves)
    _act(StepSequencer(process, voice, offers), voice, event)
    return voice.state, voice.said


def ignore(
    state: Execution, event: Any, asked: Names, delivery: Delivery
) -> tuple[Execution, list[Output]]:
    """Record that *event* answers what others were *asked*, where nothing else is wrong with it.

    What is late, or was said before, is passed over without a word; so is whoever did it before.
    """
    kind, source = type(event), delivery.source
    if kind not in ANSWERS or speaks_for(source, asked):
        return state, []
    told = ignored_as(event, source)
    rightly = evolve(state, event, delivery.time_ns, source=asked[0])
    if told in state.ignored or rightly is state:
        return state, []
    voice = Outbox(state, delivery)
    voice.ignore(told, asked[0])
    return voice.state, voice.said


def leave(
    state: Execution,
    event: Event,
    reason: str,
    process: LinkedProcess,
    delivery: Delivery,
) -> tuple[Execution, list[Output]]:
    """End an execution at *event*, which its parent has gone on, or ended, without."""
    after = evolve(state, event, delivery.time_ns, source=delivery.source)
    voice = Outbox(after, delivery)
    asked = ExecutionCancel(execution_id=after.execution_id, reason=reason)
    control.cancel(StepSequencer(process, voice, NO_TOOLS), voice, asked)
    return voice.state, voice.said


def give_up(
    state: Execution, event: Event, reason: str, delivery: Delivery
) -> tuple[Execution, list[Output]]:
    """Fail an execution that cannot be led any further, as when its process cannot be read."""
    after = evolve(state, event, delivery.time_ns, source=delivery.source)
    voice = Outbox(after, delivery)
    if voice.state.status != "unknown" and not voice.state.over:
        if voice.state.stage in DELEGATED:
            voice.cancel_child(f"its parent failed: {reason}")
        voice.fail(reason)
    return voice.state, voice.said


def take_back(
    state: Execution,
    asked: Event,
    reason: str,
    process: LinkedProcess,
    delivery: Delivery,
    offers: Offers = NO_TOOLS,
    serves: Serving = nobody,
) -> tuple[Execution, list[Output]]:
    """Go on after whoever was *asked* could not even say that it failed."""
    voice = Outbox(state, delivery, serves)
    stage = _ASKS.get(type(asked))
    match asked:
        case ExecutionRequest() if state.status == "requested":
            voice.fail(reason)
        case GateEvaluate() if state.status == "running" and state.stage == stage:
            place = (state.step_id, state.gates_passed, state.gate_attempt)
            if (asked.step_id, asked.index, asked.attempt) == place:
                voice.drop_gate_timeout(*place)
                voice.halt(reason, asked.step_id, gate=asked.gate)
        case ContextCompile() if state.editing is not None and answers(state, asked, "context"):
            StepSequencer(process, voice, offers).not_compiled(reason)
        case KnowledgeRequest() | ContextCompile() | ModelInvoke() | StepExecute():
            same_call = getattr(asked, "call", state.call) == state.call
            course = StepSequencer(process, voice, offers)
            if stage is None or not answers(state, asked, stage) or not same_call:
                pass
            elif not settlement.give_up(course, voice, reason):
                course.fail(reason, "failed")
        case ToolCall() if answers(state, asked, "tools") and asked.call_id in state.open_calls:
            StepSequencer(process, voice, offers).dialogue.tool_parked(asked, reason)
        case _:
            pass
    return voice.state, voice.said


def decide(
    state: Execution, event: Event, process: LinkedProcess, delivery: Delivery
) -> Iterator[Output]:
    """What follows from *event* for an execution that was at *state* before it."""
    yield from advance(state, event, process, delivery)[1]


def _act(course: StepSequencer, voice: Outbox, event: Event) -> None:
    match event:
        case ExecutionStarted():
            if not voice.state.adhoc:
                course.go_on()
        case StepCompleted() | StepFailed() if not settlement.answered(course, voice):
            pass  # it is looked at on resume
        case StepCompleted() if not voice.state.adhoc:
            course.settle()
        case StepFailed() if not voice.state.adhoc:
            course.recover(event)
        case GateEvaluated():
            _after_gate(course, voice, event)
        case KnowledgeRequested():
            course.found(event.problem)
        case ContextCompiled():
            course.show_prompt()
        case ContextRefused():
            course.not_compiled(event.reason, dear=event.dear)
        case ModelResponded():
            course.answered()
        case ModelFailed():
            course.dialogue.model_failed(event)
        case ToolReturned() | ToolFailed() | ToolDenied():
            if settlement.answered(course, voice):
                course.dialogue.tool_told()
        case EffectIntended():
            settlement.begins(course, voice, event)
        case EffectUnknown():
            settlement.ask(course, voice)
        case EffectSettle():
            settlement.settle(course, voice, event)
        case StepUnclaimed():
            control.pause_unclaimed(course, voice)
        case StepWake():
            _wake(course, voice, event)
        case ExecutionPause():
            control.pause(course, voice, event)
        case ExecutionResume():
            control.resume(course, voice, event)
        case ExecutionEdit() | StepSettle() | ContextEdit():
            if resume := change(course, voice, event, control.not_to_resume(voice, event)):
                control.resume(course, voice, resume)
        case ExecutionCancel():
            control.cancel(course, voice, event)
        case StepPropose():
            pursuing.act(course, voice, event)
        case ExecutionFinish():
            pursuing.finish(course, voice, event)
        case ExecutionCompleted() | ExecutionFailed() | ExecutionCancelled() | ExecutionCharged():
            after_child(course, voice, event)
        case ExecutionHalted() | ExecutionPaused() | ExecutionResumed() | ExecutionRefused():
            after_child(course, voice, event)
        case _:
            return


def _after_gate(course: StepSequencer, voice: Outbox, event: GateEvaluated) -> None:
    voice.drop_gate_timeout(event.step_id, event.index, event.attempt)
    if event.outcome == "passed":
        course.go_on()
    elif event.outcome == "waiting":
        question = str(event.evidence.get("question") or event.reason)
        gate = f"{voice.state.begun().process}/{event.gate}"
        voice.pause("approval", event.step_id, question=question, gate=gate)
    elif not pursuing.judged(course, voice, event):
        reason = f"gate {event.gate} did not pass: {event.reason or 'it gives no reason'}"
        voice.halt(reason, event.step_id, gate=event.gate, evidence=event.evidence)


def _wake(course: StepSequencer, voice: Outbox, event: StepWake) -> None:
    state = voice.state
    if state.status != "running" or voice.source != ENGINE:
        return  # its deadlines are the engine's own
    if event.what == "gate":
        here = (state.step_id, state.gates_passed, state.gate_attempt)
        if state.stage == "gate" and here == (event.step_id, event.index, event.attempt):
            course.gate_ran_out()
        return
    if event.what == "offers":
        if state.stage == "idle":  # else it has begun, or something else comes first
            course.go_on(event.index)
        return
    if (state.step_id, state.attempt) != (event.step_id, event.attempt):
        return
    out_of_time = event.what in ("timeout", "budget")
    if out_of_time and state.effects and state.stage in ATTEMPTING:
        if not event.index:
            voice.look_at_timeout(event.what, GRACE_S)
        else:
            settlement.give_up(course, voice, f"{event.step_id} ran out of time")
    elif out_of_time and event.index and state.stage == "failed":
        recovery.gave_up(course, voice, event.what)
    elif event.what == "retry" and state.stage == "failed":
        course.try_again()
    elif out_of_time and state.stage in ATTEMPTING:
        recovery.ran_out(course, voice, event.what)
    elif event.turn != state.turn:
        return
    elif event.what == "model" and state.stage == "waiting" and event.index == state.call:
        course.ask_model()
    elif event.what == "tools" and state.stage == "tools" and event.index:
        course.dialogue.tools_ran_out(event.index)
        settlement.give_up(course, voice, "its tool was not heard of again")
