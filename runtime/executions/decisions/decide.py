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
    ExecutionBreak,
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
    MemoryRequest,
    MemoryRequested,
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

from ..state.asked import ANSWERS, ENGINE, Names, Serving, asked_for, ignored_as, nobody, speaks_for
from ..state.evolve import INPUTS, evolve
from ..state.recorded_calls import RecordedCalls
from ..state.state import ATTEMPTING, DELEGATED, Execution, Stage, answers
from ..steps import pursuing, recovery
from ..steps.breakpoints import set_breakpoints
from ..steps.dialogue import Offers
from ..steps.laid_down import Directives, nothing_laid_down
from ..steps.outbox import Outbox
from ..steps.step_sequencer import StepSequencer
from . import control, settlement
from .changing import change
from .children import after_child

# The process of what has none: ad-hoc work, and an execution that has not started.
NO_PROCESS = LinkedProcess(name="", version=0, digest="", source_digest="", chain=(), steps=())

GRACE_S = 5.0  # a handler that keeps to its own time needs a moment to say how it ended

_ASKS: Mapping[type[Event], Stage] = {
    GateEvaluate: "gate",
    KnowledgeRequest: "knowledge",
    MemoryRequest: "memory",
    ContextCompile: "context",
    ModelInvoke: "model",
    ToolCall: "tools",
    StepExecute: "handler",
}


NO_TOOLS = Offers(lambda _: Registry())  # without any tools


def advance(
    state: Execution,
    event: Event,
    process: LinkedProcess,
    delivery: Delivery,
    offers: Offers = NO_TOOLS,
    serves: Serving = nobody,
    recorded: RecordedCalls | None = None,
    directives: Directives = nothing_laid_down,
) -> tuple[Execution, list[Output]]:
    """The execution after *event* and after its own reactions, and these reactions.

    *offers* gives the tools that a step lists, and *serves* the component for a request, both as
    of the moment when *event* was recorded. *recorded* is the record that a fork or a what-if uses.
    *directives* gives what people laid down that is in force for an execution.
    """
    after = evolve(state, event, delivery.time_ns, source=delivery.source)
    if after is state and type(event) in INPUTS and not isinstance(event, ExecutionFailed):
        return ignore(state, event, asked_for(state, event), delivery)
    outbox = Outbox(after, delivery, serves, recorded, directives)
    _act(StepSequencer(process, outbox, offers), outbox, event)
    return outbox.state, outbox.outputs


def ignore(
    state: Execution, event: Any, asked: Names, delivery: Delivery
) -> tuple[Execution, list[Output]]:
    """Record that *event* answers a request to others, *asked*, if that is its only fault.

    Late and repeated answers are ignored silently; so are sources that were reported before.
    """
    kind, source = type(event), delivery.source
    if kind not in ANSWERS or speaks_for(source, asked):
        return state, []
    told = ignored_as(event, source)
    rightly = evolve(state, event, delivery.time_ns, source=asked[0])
    if told in state.ignored or rightly is state:
        return state, []
    outbox = Outbox(state, delivery)
    outbox.ignore(told, asked[0])
    return outbox.state, outbox.outputs


def leave(
    state: Execution,
    event: Event,
    reason: str,
    process: LinkedProcess,
    delivery: Delivery,
) -> tuple[Execution, list[Output]]:
    """End an execution at *event*, which its parent has gone on, or ended, without."""
    after = evolve(state, event, delivery.time_ns, source=delivery.source)
    outbox = Outbox(after, delivery)
    asked = ExecutionCancel(execution_id=after.execution_id, reason=reason)
    control.cancel(StepSequencer(process, outbox, NO_TOOLS), outbox, asked)
    return outbox.state, outbox.outputs


def give_up(
    state: Execution, event: Event, reason: str, delivery: Delivery
) -> tuple[Execution, list[Output]]:
    """Fail an execution that cannot be led any further, as when its process cannot be read."""
    after = evolve(state, event, delivery.time_ns, source=delivery.source)
    outbox = Outbox(after, delivery)
    if outbox.state.status != "unknown" and not outbox.state.over:
        if outbox.state.stage in DELEGATED:
            outbox.cancel_child(f"its parent failed: {reason}")
        outbox.fail(reason)
    return outbox.state, outbox.outputs


def take_back(
    state: Execution,
    asked: Event,
    reason: str,
    process: LinkedProcess,
    delivery: Delivery,
    offers: Offers = NO_TOOLS,
    serves: Serving = nobody,
    recorded: RecordedCalls | None = None,
    directives: Directives = nothing_laid_down,
) -> tuple[Execution, list[Output]]:
    """Continue after a component in *asked* could not even report its failure."""
    outbox = Outbox(state, delivery, serves, recorded, directives)
    stage = _ASKS.get(type(asked))
    match asked:
        case ExecutionRequest() if state.status == "requested":
            outbox.fail(reason)
        case GateEvaluate() if state.status == "running" and state.stage == stage:
            place = (state.step_id, state.gates_passed, state.gate_attempt)
            if (asked.step_id, asked.index, asked.attempt) == place:
                outbox.drop_gate_timeout(*place)
                outbox.halt(reason, asked.step_id, gate=asked.gate)
        case ContextCompile() if state.editing is not None and answers(state, asked, "context"):
            StepSequencer(process, outbox, offers).not_compiled(reason)
        case KnowledgeRequest() | ContextCompile() | ModelInvoke() | StepExecute():
            same_call = getattr(asked, "call", state.call) == state.call
            sequencer = StepSequencer(process, outbox, offers)
            if stage is None or not answers(state, asked, stage) or not same_call:
                pass
            elif not settlement.give_up(sequencer, outbox, reason):
                sequencer.fail(reason, "failed")
        case ToolCall() if answers(state, asked, "tools") and asked.call_id in state.open_calls:
            StepSequencer(process, outbox, offers).dialogue.tool_parked(asked, reason)
        case _:
            pass
    return outbox.state, outbox.outputs


def decide(
    state: Execution, event: Event, process: LinkedProcess, delivery: Delivery
) -> Iterator[Output]:
    """What follows from *event* for an execution that was at *state* before it."""
    yield from advance(state, event, process, delivery)[1]


def _act(sequencer: StepSequencer, outbox: Outbox, event: Event) -> None:
    match event:
        case ExecutionStarted():
            if not outbox.state.adhoc:
                sequencer.go_on()
        case StepCompleted() | StepFailed() if not settlement.answered(sequencer, outbox):
            pass  # it is looked at on resume
        case StepCompleted() if not outbox.state.adhoc:
            sequencer.settle()
        case StepFailed() if not outbox.state.adhoc:
            sequencer.recover(event)
        case GateEvaluated():
            _after_gate(sequencer, outbox, event)
        case KnowledgeRequested():
            sequencer.found(event.problem)
        case MemoryRequested():
            sequencer.remembered(event.problem)
        case ContextCompiled():
            sequencer.show_prompt()
        case ContextRefused():
            sequencer.not_compiled(event.reason, dear=event.dear)
        case ModelResponded():
            sequencer.answered()
        case ModelFailed():
            sequencer.dialogue.model_failed(event)
        case ToolReturned() | ToolFailed() | ToolDenied():
            if settlement.answered(sequencer, outbox):
                sequencer.dialogue.tool_told()
        case EffectIntended():
            settlement.begins(sequencer, outbox, event)
        case EffectUnknown():
            settlement.ask(sequencer, outbox)
        case StepUnclaimed():
            control.pause_unclaimed(sequencer, outbox)
        case StepWake():
            _wake(sequencer, outbox, event)
        case ExecutionCompleted() | ExecutionFailed() | ExecutionCancelled() | ExecutionCharged():
            after_child(sequencer, outbox, event)
        case ExecutionHalted() | ExecutionPaused() | ExecutionResumed() | ExecutionRefused():
            after_child(sequencer, outbox, event)
        case _:
            _obey(sequencer, outbox, event)


def _obey(sequencer: StepSequencer, outbox: Outbox, event: Event) -> None:
    """Carry out what a client asks of the execution."""
    match event:
        case EffectSettle():
            settlement.settle(sequencer, outbox, event)
        case ExecutionPause():
            control.pause(sequencer, outbox, event)
        case ExecutionResume():
            control.resume(sequencer, outbox, event)
        case ExecutionEdit() | StepSettle() | ContextEdit():
            if resume := change(sequencer, outbox, event, control.not_to_resume(outbox, event)):
                control.resume(sequencer, outbox, resume)
        case ExecutionBreak():
            set_breakpoints(sequencer, outbox, event)
        case ExecutionCancel():
            control.cancel(sequencer, outbox, event)
        case StepPropose():
            pursuing.act(sequencer, outbox, event)
        case ExecutionFinish():
            pursuing.finish(sequencer, outbox, event)


def _after_gate(sequencer: StepSequencer, outbox: Outbox, event: GateEvaluated) -> None:
    outbox.drop_gate_timeout(event.step_id, event.index, event.attempt)
    if event.outcome == "passed":
        sequencer.go_on()
    elif event.outcome == "waiting":
        question = str(event.evidence.get("question") or event.reason)
        gate = f"{outbox.state.begun().process}/{event.gate}"
        outbox.pause("approval", event.step_id, question=question, gate=gate)
    elif not pursuing.judged(sequencer, outbox, event):
        reason = f"gate {event.gate} did not pass: {event.reason or 'it gives no reason'}"
        outbox.halt(reason, event.step_id, gate=event.gate, evidence=event.evidence)


def _wake(sequencer: StepSequencer, outbox: Outbox, event: StepWake) -> None:
    state = outbox.state
    if state.status != "running" or outbox.source != ENGINE:
        return  # its deadlines are the engine's own
    if event.what == "gate":
        here = (state.step_id, state.gates_passed, state.gate_attempt)
        if state.stage == "gate" and here == (event.step_id, event.index, event.attempt):
            recovery.gate_ran_out(sequencer, outbox)
        return
    if event.what == "offers":
        if state.stage == "idle":  # else it has begun, or something else comes first
            sequencer.go_on(event.index)
        return
    if (state.step_id, state.attempt) != (event.step_id, event.attempt):
        return
    out_of_time = event.what in ("timeout", "budget")
    if out_of_time and state.effects and state.stage in ATTEMPTING:
        if not event.index:
            outbox.look_at_timeout(event.what, GRACE_S)
        else:
            settlement.give_up(sequencer, outbox, f"{event.step_id} ran out of time")
    elif out_of_time and event.index and state.stage == "failed":
        recovery.gave_up(sequencer, outbox, event.what)
    elif event.what == "retry" and state.stage == "failed":
        sequencer.try_again()
    elif out_of_time and state.stage in ATTEMPTING:
        recovery.ran_out(sequencer, outbox, event.what)
    elif event.turn != state.turn:
        return
    elif event.what == "model" and state.stage == "waiting" and event.index == state.call:
        sequencer.ask_model()
    elif event.what == "tools" and state.stage == "tools" and event.index:
        sequencer.dialogue.tools_ran_out(event.index)
        settlement.give_up(sequencer, outbox, "its tool was not heard of again")
