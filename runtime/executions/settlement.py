"""Handles effects that may happen only once and whose outcome is unknown.

Only a person can begin such an effect a second time. While the outcome is unknown, the execution is
paused and asks. If the outcome is recorded after all, that answers the question.
"""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from cortex.bus.events import (
    EffectIntended,
    EffectSettle,
    EffectSettled,
    EffectUnknown,
    StepCompleted,
    StepExecute,
    ToolReturned,
)
from cortex.runtime.access import person_of

from .fanning import unknown_of
from .outbox import Outbox
from .room import clipped
from .state import DELEGATED, EFFECT, Execution
from .step_sequencer import StepSequencer
from .values import not_as_declared

SHOWN_CHARS: Final = 600  # of the parameters, in a question
OUTCOMES: Final = ("happened", "again")
HOW: Final = "say what happened: resume with --it-happened RESULT, or with --do-it-again"


def begins(course: StepSequencer, voice: Outbox, event: EffectIntended) -> None:
    """An effect begins, maybe in an attempt that was given up a moment before."""
    state = voice.state
    if not state.adhoc and event.kind == "action" and state.stage in ("failed", "idle"):
        course.drop_deadlines()
        give_up(course, voice, "it was begun when its time was over")


def give_up(course: StepSequencer, voice: Outbox, reason: str) -> bool:
    """Ask a person about every effect that is begun; whether there is one."""
    state = voice.state
    for begun in state.effects.values():
        if begun.effect_key not in state.unknown:
            said = msgspec.structs.asdict(begun)
            parameters = _parameters(state, begun)
            voice.say(EffectUnknown(**said, reason=clipped(reason), parameters=parameters))
    ask(course, voice)
    return bool(state.effects)


def ask(course: StepSequencer, voice: Outbox) -> None:
    """Pause, and ask about the first effect of unknown outcome, where there is one."""
    state = voice.state
    if state.unknown and state.status == "running":
        if not state.adhoc:
            course.drop_deadlines()  # its time does not count while a person thinks
        first = next(iter(state.unknown.values()))
        voice.pause(EFFECT, state.step_id, question=question_of(first))


def answered(course: StepSequencer, voice: Outbox) -> bool:
    """Go on where what was asked about has ended by itself; whether the execution is running."""
    state = voice.state
    if state.status == "paused" and state.reason == EFFECT and not state.unknown:
        voice.resume(note="its outcome was recorded")
        if voice.state.stage == "tools":
            course.restart_timeout()
    return voice.state.status == "running"


def settle(course: StepSequencer, voice: Outbox, event: EffectSettle) -> None:
    """A person says what became of an effect."""
    state = voice.state
    effect = state.unknown.get(event.effect_key)
    if effect is None and state.stage in DELEGATED and not state.over:
        child, problem = (state.child, "") if state.fan is None else unknown_of(state.fan)
        if problem:
            voice.refuse(event, problem)
        else:
            voice.settle_child(event, child)
        return
    problem = _wrong(course, voice, event, effect)
    if effect is None or problem:
        voice.refuse(event, problem)
        return
    voice.say(
        EffectSettled(
            execution_id=state.execution_id,
            step_id=effect.step_id,
            attempt=effect.attempt,
            effect_key=effect.effect_key,
            outcome=event.outcome,
            by=person_of(voice.source),
            turn=effect.turn,
            call_id=effect.call_id,
            note=event.note,
        )
    )
    if state.status == "paused":
        voice.resume(note=event.note)
    if event.outcome == "again":
        _again(course, voice, effect)
    else:
        _happened(course, voice, effect, event)
    ask(course, voice)  # about the next one


def _wrong(
    course: StepSequencer, voice: Outbox, event: EffectSettle, effect: EffectUnknown | None
) -> str:
    """Why what a person says is not taken; "" where it is."""
    if voice.state.over:
        return f"the execution is {voice.state.status}"
    if effect is None:
        return "no effect of that key waits for an answer"
    if event.outcome not in OUTCOMES:
        return f"the outcome {event.outcome[:40]!r} is not one of {', '.join(OUTCOMES)}"
    if voice.state.status == "paused" and not voice.was_seen(event.seen):
        return (
            "the question came after the position that the answer has seen: look at it, then answer"
        )
    if event.outcome == "happened" and effect.kind == "tool" and not event.told:
        return "the text that the tool gave is missing"
    if event.outcome == "happened" and effect.kind == "action" and not voice.state.adhoc:
        return not_as_declared(course.step, event.result)
    return ""


def _happened(
    course: StepSequencer, voice: Outbox, effect: EffectUnknown, said: EffectSettle
) -> None:
    place: dict[str, Any] = {
        "execution_id": effect.execution_id,
        "step_id": effect.step_id,
        "attempt": effect.attempt,
    }
    summary = said.note or f"{person_of(voice.source)} says that it happened"
    if effect.kind == "tool":
        returned = ToolReturned(
            **place,
            turn=effect.turn,
            call_id=effect.call_id,
            tool=effect.name,
            result=said.told,
            excerpt=said.excerpt,
            bytes=said.bytes,
            lines=said.lines,
            summary=clipped(summary),
        )
        voice.say(returned)
        _go_on_with_tools(course, voice)
        return
    voice.say(StepCompleted(**place, result=said.result, summary=clipped(summary)))
    if not voice.state.adhoc:
        course.settle()


def _again(course: StepSequencer, voice: Outbox, effect: EffectUnknown) -> None:
    if effect.kind == "tool":
        course.dialogue.call_again(effect)
        _go_on_with_tools(course, voice)
    elif voice.state.adhoc:
        begun = voice.state.begun()
        voice.ask(
            StepExecute(
                execution_id=effect.execution_id,
                step_id=effect.step_id,
                action=effect.name,
                attempt=effect.attempt + 1,
                parameters=effect.parameters,
                workspace=begun.workspace,
                goal=begun.goal,
                component=effect.component,
            )
        )
    else:
        course.do_again()


def _go_on_with_tools(course: StepSequencer, voice: Outbox) -> None:
    if not voice.state.unknown:
        course.restart_timeout()
        course.dialogue.tool_told()


def question_of(effect: EffectUnknown) -> str:
    """What a person is asked about an effect: what was begun, when, and with what."""
    what = f"{effect.kind} {effect.name} of step {effect.step_id}, attempt {effect.attempt},"
    when = ""
    if effect.began_ns:
        began = datetime.fromtimestamp(effect.began_ns // 1_000_000_000, UTC)
        when = f" asked for at {began:%Y-%m-%d %H:%M:%S} UTC"
    given = msgspec.json.encode(effect.parameters).decode()
    if len(given) > SHOWN_CHARS:
        given = f"{given[:SHOWN_CHARS]}…"
    return clipped(f"Did it happen? {what}{when} with {given}: {effect.reason}")


def _parameters(state: Execution, begun: EffectIntended) -> dict[str, Any]:
    if begun.kind == "action":
        return state.parameters
    calls = state.answer.get("calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict) and call.get("id") == begun.call_id:
            arguments = call.get("arguments")
            return arguments if isinstance(arguments, dict) else {}
    return {}
