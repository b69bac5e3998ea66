"""What an execution does about an event, given that the event is folded in already.

Facts are answered only where they changed something. Requests (pause, resume, cancel, finish, wake)
and what becomes of a child are matched against where the execution stands; what does not fit is too
late or a repetition, and nothing happens.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from cortex.runtime.tools import Tools

from ..linked import LinkedProcess
from . import fanning, pursuing, settlement
from .asked import ANSWERS, Names, Serving, asked_for, ignored_as, nobody, speaks_for
from .changing import Change, change
from .children import after_child
from .course import Course
from .dialogue import Offers
from .evolve import INPUTS, evolve
from .speakers import ENGINE
from .state import ATTEMPTING, DELEGATED, PARENT_PAUSES, Execution, Stage, answers
from .voice import UNSEEN, Voice

# Stands in where there is no process: ad-hoc work, and an execution that has not started.
NO_PROCESS = LinkedProcess(name="", version=0, digest="", source_digest="", chain=(), steps=())

VERDICTS = ("approved", "denied")  # what a gate that asks a person is answered
SHOWN_CHARS = 40  # of an answer that is none
GRACE_S = 5.0  # a handler that keeps to its own time needs a moment to say how it ended

_ASKS: Mapping[type[Event], Stage] = {
    GateEvaluate: "gate",
    KnowledgeRequest: "knowledge",
    ContextCompile: "context",
    ModelInvoke: "model",
    ToolCall: "tools",
    StepExecute: "handler",
}


def no_tools(_: Sequence[str]) -> Tools:
    """Where there are no tools at all."""
    return Tools()


def advance(
    state: Execution,
    event: Event,
    process: LinkedProcess,
    delivery: Delivery,
    offers: Offers = no_tools,
    serves: Serving = nobody,
) -> tuple[Execution, list[Output]]:
    """The execution after *event* and all that it says about it, and what it says.

    *offers* says what there is of the tools that a step lists, when *event* was recorded, and
    *serves* who serves what then.
    """
    after = evolve(state, event, delivery.time_ns, source=delivery.source)
    if after is state and type(event) in INPUTS and not isinstance(event, ExecutionFailed):
        return ignore(state, event, asked_for(state, event), delivery)
    voice = Voice(after, delivery, serves)
    _act(Course(process, voice, offers), voice, event)
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
    voice = Voice(state, delivery)
    voice.ignore(told, asked[0])
    return voice.state, voice.said


def give_up(
    state: Execution, event: Event, reason: str, delivery: Delivery
) -> tuple[Execution, list[Output]]:
    """Fail an execution that cannot be led any further, as when its process cannot be read."""
    after = evolve(state, event, delivery.time_ns, source=delivery.source)
    voice = Voice(after, delivery)
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
    offers: Offers = no_tools,
    serves: Serving = nobody,
) -> tuple[Execution, list[Output]]:
    """Go on after whoever was *asked* could not even say that it failed."""
    voice = Voice(state, delivery, serves)
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
            Course(process, voice, offers).not_compiled(reason)
        case KnowledgeRequest() | ContextCompile() | ModelInvoke() | StepExecute():
            same_call = getattr(asked, "call", state.call) == state.call
            course = Course(process, voice, offers)
            if stage is None or not answers(state, asked, stage) or not same_call:
                pass
            elif not settlement.give_up(course, voice, reason):
                course.fail(reason, "failed")
        case ToolCall() if answers(state, asked, "tools") and asked.call_id in state.open_calls:
            Course(process, voice, offers).dialogue.tool_parked(asked, reason)
        case _:
            pass
    return voice.state, voice.said


def decide(
    state: Execution, event: Event, process: LinkedProcess, delivery: Delivery
) -> Iterator[Output]:
    """What follows from *event* for an execution that was at *state* before it."""
    yield from advance(state, event, process, delivery)[1]


def _act(course: Course, voice: Voice, event: Event) -> None:
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
            course.not_compiled(event.reason)
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
            _pause_unclaimed(course, voice)
        case StepWake():
            _wake(course, voice, event)
        case ExecutionPause():
            _pause(course, voice, event)
        case ExecutionResume():
            _resume(course, voice, event)
        case ExecutionEdit() | StepSettle() | ContextEdit():
            if resume := change(course, voice, event, _not_to_resume(voice, event)):
                _resume(course, voice, resume)
        case ExecutionCancel():
            _cancel(course, voice, event)
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


def _after_gate(course: Course, voice: Voice, event: GateEvaluated) -> None:
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


def _wake(course: Course, voice: Voice, event: StepWake) -> None:
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
        course.gave_up(event.what)
    elif event.what == "retry" and state.stage == "failed":
        course.try_again()
    elif out_of_time and state.stage in ATTEMPTING:
        course.ran_out(event.what)
    elif event.turn != state.turn:
        return
    elif event.what == "model" and state.stage == "waiting" and event.index == state.call:
        course.ask_model()
    elif event.what == "tools" and state.stage == "tools" and event.index:
        course.dialogue.tools_ran_out(event.index)
        settlement.give_up(course, voice, "its tool was not heard of again")


def _pause(course: Course, voice: Voice, event: ExecutionPause) -> None:
    state = voice.state
    if state.status != "running" or state.pausing is None:
        return
    if state.stage == "model" and event.question:  # a person is the model
        course.drop_deadlines()
        voice.pause(state.pausing, state.step_id, question=event.question, prompt=event.prompt)
        return
    if state.stage in ("failed", "waiting"):
        course.drop_deadlines()
        voice.pause(state.pausing, state.step_id)
    elif state.stage == "fan":
        fanning.paused(course, voice, f"{PARENT_PAUSES}: {state.pausing}")
    elif state.stage in ("child", "cleanup"):
        voice.pause_child(f"{PARENT_PAUSES}: {state.pausing}")
    else:
        _pause_unclaimed(course, voice)


def _pause_unclaimed(course: Course, voice: Voice) -> None:
    """Take a pause at once where the step at hand waits for somebody to take it."""
    state = voice.state
    if state.stage == "handler" and state.unclaimed and state.pausing is not None:
        course.drop_deadlines()
        voice.pause(state.pausing, state.step_id)


def _answer_gate(course: Course, voice: Voice, event: ExecutionResume) -> None:
    """Take the answer of a person to a gate, if it is this gate that asks; nothing else goes on."""
    state = voice.state
    if event.from_step or not event.answer or state.over:
        return
    if state.fan is not None:
        child, problem = fanning.asking(state.fan, event.gate)
        if problem:
            voice.refuse(event, problem)
        else:
            voice.resume_child(event, child)
    elif state.stage in ("child", "cleanup"):
        voice.resume_child(event)  # which resumes this one, once the answer is taken
    elif state.stage == "gate_open" and state.open_gate == event.gate:
        if not voice.was_seen(event.seen):
            voice.refuse(event, UNSEEN)
            return
        if event.answer not in VERDICTS:
            said = event.answer[:SHOWN_CHARS]
            voice.refuse(event, f"{said!r} does not answer a gate: {' or '.join(VERDICTS)} does")
            return
        voice.resume(event.answer, voice.asked_by(event), event.note)
        course.go_on()


def _resume(course: Course, voice: Voice, event: ExecutionResume) -> None:
    state = voice.state
    if event.gate:
        _answer_gate(course, voice, event)
        return
    stands = state.status in ("paused", "halted")
    if not stands and (state.over or state.pausing is None):
        return
    refused = _not_to_resume(voice, event) if stands else ""
    if refused:
        voice.refuse(event, refused)
        return
    if event.answer and state.open_gate:
        return  # an answer to a gate names it: it takes a grant of its own
    if refused := fanning.not_to_resume(voice, event):
        voice.refuse(event, refused)
        return
    if event.from_step:
        _resume_from(course, voice, event)
        return
    voice.resume(event.answer, voice.asked_by(event), event.note)
    stage = voice.state.stage
    if voice.state.step_id in voice.state.settled and stage in ATTEMPTING:
        course.take_settled(course.step)
    elif stage == "fan":
        fanning.resumed(course, voice, event, stood=stands)
    elif stage in ("child", "cleanup"):
        voice.resume_child(event)
        if stands:
            course.restart_timeout()
    elif stage == "model":
        course.restart_timeout()  # whoever is asked answers now, or asks again
    elif not stands:
        return  # the pause was not taken yet, so that something is asked
    elif stage == "handler":
        course.restart_timeout()  # it still waits for somebody to take it
    elif state.statuses.get(state.step_id) == "completed":
        course.settle()  # somebody did take it during the pause
    elif stage in ("compiled", "waiting", "tools"):
        course.go_on_attempting()
    else:
        course.go_on()


def _not_to_resume(voice: Voice, event: ExecutionResume | Change) -> str:
    """Why a resume of what stands is not followed; "" where it is."""
    state = voice.state
    if not voice.was_seen(event.seen):
        return UNSEEN
    if state.unknown:
        return f"nobody knows how an effect ended that was begun: {settlement.HOW}"
    if not isinstance(event, ContextEdit) and event.from_step and state.effects:
        return "an effect of the step at hand is under way: wait for its outcome"
    return ""


def _resume_from(course: Course, voice: Voice, event: ExecutionResume) -> None:
    if event.from_step not in course.reached():
        return
    if voice.state.stage in ("child", "fan"):
        voice.cancel_child(f"its parent goes back to {event.from_step}")
    voice.resume("", voice.asked_by(event), event.note, event.from_step)
    course.go_back(event.from_step, event.note)


def _cancel(course: Course, voice: Voice, event: ExecutionCancel) -> None:
    state = voice.state
    if state.over or state.status == "unknown":
        return
    reason = event.reason or "asked for"
    course.drop_deadlines()
    if state.stage in DELEGATED:
        voice.cancel_child(f"its parent was cancelled: {reason}")
    voice.cancel(reason)
