"""What an execution does about an event, given that the event is folded in already.

Facts are answered only where they changed something. Requests (pause, resume, cancel, finish, wake)
and what becomes of a child are matched against where the execution stands; what does not fit is too
late or a repetition, and nothing happens.
"""

from collections.abc import Iterator, Mapping

from cortex.bus import Event
from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ContextRefused,
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionFinish,
    ExecutionHalted,
    ExecutionPause,
    ExecutionRequest,
    ExecutionResume,
    ExecutionResumed,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepExecute,
    StepFailed,
    StepWake,
)
from cortex.runtime.kernel import Delivery, Output

from ..linked import LinkedProcess
from .course import Course
from .evolve import INPUTS, evolve
from .state import ATTEMPTING, Execution, Stage
from .voice import Voice

# Stands in where there is no process: ad-hoc work, and an execution that has not started.
NO_PROCESS = LinkedProcess(name="", version=0, digest="", source_digest="", chain=(), steps=())

_ASKS: Mapping[type[Event], Stage] = {
    GateEvaluate: "gate",
    ContextCompile: "context",
    ModelInvoke: "model",
    StepExecute: "handler",
}
ChildFact = ExecutionCompleted | ExecutionFailed | ExecutionHalted | ExecutionCancelled


def advance(
    state: Execution, event: Event, process: LinkedProcess, delivery: Delivery
) -> tuple[Execution, list[Output]]:
    """The execution after *event* and all that it says about it, and what it says."""
    after = evolve(state, event, delivery.time_ns)
    if after is state and type(event) in INPUTS and not isinstance(event, ExecutionFailed):
        return state, []
    voice = Voice(after, delivery)
    _act(Course(process, voice), voice, event)
    return voice.state, voice.said


def give_up(
    state: Execution, event: Event, reason: str, delivery: Delivery
) -> tuple[Execution, list[Output]]:
    """Fail an execution that cannot be led any further, as when its process cannot be read."""
    voice = Voice(evolve(state, event, delivery.time_ns), delivery)
    if voice.state.status != "unknown" and not voice.state.over:
        voice.fail(reason)
    return voice.state, voice.said


def take_back(
    state: Execution, asked: Event, reason: str, process: LinkedProcess, delivery: Delivery
) -> tuple[Execution, list[Output]]:
    """Go on after whoever was *asked* could not even say that it failed."""
    voice = Voice(state, delivery)
    stage = _ASKS.get(type(asked))
    match asked:
        case ExecutionRequest() if state.status == "requested":
            voice.fail(reason)
        case GateEvaluate() if state.status == "running" and state.stage == stage:
            if (asked.step_id, asked.attempt) == (state.step_id, state.gate_attempt):
                voice.halt(reason, asked.step_id, gate=asked.gate)
        case ContextCompile() | ModelInvoke() | StepExecute():
            here = (state.status, state.stage, state.step_id, state.attempt)
            if here == ("running", stage, asked.step_id, asked.attempt):
                Course(process, voice).fail(reason, "failed")
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
        case GateEvaluated():
            _after_gate(course, voice, event)
        case ContextCompiled():
            course.show_prompt()
        case ContextRefused():
            course.fail(event.reason, "refused", retry=False)
        case ModelResponded():
            course.ask_handler()
        case ModelFailed():
            course.fail(event.error, "failed", retry=event.retry)
        case StepCompleted() if not voice.state.adhoc:
            course.settle()
        case StepFailed() if not voice.state.adhoc:
            course.recover(event)
        case StepWake():
            _wake(course, voice, event)
        case ExecutionPause():
            _pause(course, voice)
        case ExecutionResume():
            _resume(course, voice, event)
        case ExecutionCancel():
            _cancel(course, voice, event)
        case ExecutionFinish():
            if voice.state.adhoc and voice.state.status == "running":
                voice.complete(event.outputs)
        case ExecutionCompleted() | ExecutionFailed() | ExecutionHalted() | ExecutionCancelled():
            _after_child(course, voice, event)
        case _:
            return


def _after_gate(course: Course, voice: Voice, event: GateEvaluated) -> None:
    if event.outcome == "passed":
        course.go_on()
    elif event.outcome == "waiting":
        question = str(event.evidence.get("question") or event.reason)
        voice.pause("approval", event.step_id, question=question)
    else:
        reason = f"gate {event.gate} did not pass: {event.reason or 'it gives no reason'}"
        voice.halt(reason, event.step_id, gate=event.gate, evidence=event.evidence)


def _wake(course: Course, voice: Voice, event: StepWake) -> None:
    state = voice.state
    if state.status != "running":
        return
    if (state.step_id, state.attempt) != (event.step_id, event.attempt):
        return
    if event.what == "retry" and state.stage == "failed":
        course.try_again()
    elif event.what == "timeout" and state.stage in ATTEMPTING:
        if state.stage == "child":
            voice.cancel_child(f"{event.step_id} of its parent ran out of time")
        course.fail(f"attempt {event.attempt} of {event.step_id} ran out of time", "timeout")


def _pause(course: Course, voice: Voice) -> None:
    state = voice.state
    if state.status == "running" and state.stage == "failed" and state.pausing is not None:
        course.drop_deadlines()
        voice.pause(state.pausing, state.step_id)


def _resume(course: Course, voice: Voice, event: ExecutionResume) -> None:
    state = voice.state
    if state.status not in ("paused", "halted"):
        return
    voice.say(
        ExecutionResumed(
            execution_id=event.execution_id,
            step_id=state.step_id,
            answer=event.answer,
            by=event.by,
            note=event.note,
        )
    )
    if state.stage == "compiled":
        course.ask_model()
    else:
        course.go_on()


def _cancel(course: Course, voice: Voice, event: ExecutionCancel) -> None:
    state = voice.state
    if state.over or state.status == "unknown":
        return
    reason = event.reason or "asked for"
    course.drop_deadlines()
    if state.stage in ("child", "cleanup"):
        voice.cancel_child(f"its parent was cancelled: {reason}")
    voice.say(ExecutionCancelled(execution_id=event.execution_id, reason=reason))


def _after_child(course: Course, voice: Voice, event: ChildFact) -> None:
    """A child ended or stopped: that settles the step, or ends the cleaning up."""
    state = voice.state
    if state.status != "running" or event.execution_id != state.child:
        return
    ended = f"{event.execution_id} {type(event).topic_name().removeprefix('execution.')}"
    why = "" if isinstance(event, ExecutionCompleted) else f": {event.reason}"
    if state.stage == "cleanup":
        voice.fail(f"{state.reason}; cleaning up: execution {ended}{why}", state.step_id)
    elif state.stage != "child":
        return
    elif isinstance(event, ExecutionCompleted):
        completed = StepCompleted(
            execution_id=state.execution_id,
            step_id=state.step_id,
            attempt=state.attempt,
            result=event.outputs,
            summary=f"execution {ended}",
        )
        voice.say(completed)
        course.settle()
    else:
        cancelled = isinstance(event, ExecutionCancelled)
        course.fail(f"child execution {ended}{why}", "failed", retry=not cancelled)
