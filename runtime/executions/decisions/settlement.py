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

from ..state.state import DELEGATED, EFFECT, Execution
from ..state.values import clipped, not_as_declared
from ..steps.fanning import unknown_of
from ..steps.outbox import Outbox
from ..steps.step_sequencer import StepSequencer

SHOWN_CHARS: Final = 600  # of the parameters, in a question
OUTCOMES: Final = ("happened", "again")
HOW: Final = "say what happened: resume with --it-happened RESULT, or with --do-it-again"


def begins(sequencer: StepSequencer, outbox: Outbox, event: EffectIntended) -> None:
    """An effect begins, maybe in an attempt that was given up a moment before."""
    state = outbox.state
    if not state.adhoc and event.kind == "action" and state.stage in ("failed", "idle"):
        sequencer.drop_deadlines()
        give_up(sequencer, outbox, "it was begun when its time was over")


def give_up(sequencer: StepSequencer, outbox: Outbox, reason: str) -> bool:
    """Ask a person about every effect that is begun; whether there is one."""
    state = outbox.state
    for begun in state.effects.values():
        if begun.effect_key not in state.unknown:
            said = msgspec.structs.asdict(begun)
            parameters = _parameters(state, begun)
            outbox.say(EffectUnknown(**said, reason=clipped(reason), parameters=parameters))
    ask(sequencer, outbox)
    return bool(state.effects)


def ask(sequencer: StepSequencer, outbox: Outbox) -> None:
    """Pause, and ask about the first effect of unknown outcome, if any."""
    state = outbox.state
    if state.unknown and state.status == "running":
        if not state.adhoc:
            sequencer.drop_deadlines()  # its time does not count while a person thinks
        first = next(iter(state.unknown.values()))
        outbox.pause(EFFECT, state.step_id, question=question_of(first))


def answered(sequencer: StepSequencer, outbox: Outbox) -> bool:
    """Continue if the outcome was recorded meanwhile; return whether the execution is running."""
    state = outbox.state
    if state.status == "paused" and state.reason == EFFECT and not state.unknown:
        outbox.resume(note="its outcome was recorded")
        if outbox.state.stage == "tools":
            sequencer.restart_timeout()
    return outbox.state.status == "running"


def settle(sequencer: StepSequencer, outbox: Outbox, event: EffectSettle) -> None:
    """A person reports the outcome of an effect."""
    state = outbox.state
    effect = state.unknown.get(event.effect_key)
    if effect is None and state.stage in DELEGATED and not state.over:
        child, problem = (state.child, "") if state.fan is None else unknown_of(state.fan)
        if problem:
            outbox.refuse(event, problem)
        else:
            outbox.settle_child(event, child)
        return
    problem = _wrong(sequencer, outbox, event, effect)
    if effect is None or problem:
        outbox.refuse(event, problem)
        return
    outbox.say(
        EffectSettled(
            execution_id=state.execution_id,
            step_id=effect.step_id,
            attempt=effect.attempt,
            effect_key=effect.effect_key,
            outcome=event.outcome,
            by=person_of(outbox.source),
            turn=effect.turn,
            call_id=effect.call_id,
            note=event.note,
        )
    )
    if state.status == "paused":
        outbox.resume(note=event.note)
    if event.outcome == "again":
        _again(sequencer, outbox, effect)
    else:
        _happened(sequencer, outbox, effect, event)
    ask(sequencer, outbox)  # about the next one


def _wrong(
    sequencer: StepSequencer, outbox: Outbox, event: EffectSettle, effect: EffectUnknown | None
) -> str:
    """Why a person's report is refused; "" if it is not."""
    if outbox.state.over:
        return f"the execution is {outbox.state.status}"
    if effect is None:
        return "no effect of that key waits for an answer"
    if event.outcome not in OUTCOMES:
        return f"the outcome {event.outcome[:40]!r} is not one of {', '.join(OUTCOMES)}"
    if outbox.state.status == "paused" and not outbox.was_seen(event.seen):
        return (
            "the question came after the position that the answer has seen: look at it, then answer"
        )
    if event.outcome == "happened" and effect.kind == "tool" and not event.told:
        return "the text that the tool gave is missing"
    if event.outcome == "happened" and effect.kind == "action" and not outbox.state.adhoc:
        return not_as_declared(sequencer.step, event.result)
    return ""


def _happened(
    sequencer: StepSequencer, outbox: Outbox, effect: EffectUnknown, said: EffectSettle
) -> None:
    place: dict[str, Any] = {
        "execution_id": effect.execution_id,
        "step_id": effect.step_id,
        "attempt": effect.attempt,
    }
    summary = said.note or f"{person_of(outbox.source)} says that it happened"
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
        outbox.say(returned)
        _go_on_with_tools(sequencer, outbox)
        return
    outbox.say(StepCompleted(**place, result=said.result, summary=clipped(summary)))
    if not outbox.state.adhoc:
        sequencer.settle(fits=True)


def _again(sequencer: StepSequencer, outbox: Outbox, effect: EffectUnknown) -> None:
    if effect.kind == "tool":
        sequencer.dialogue.call_again(effect)
        _go_on_with_tools(sequencer, outbox)
    elif outbox.state.adhoc:
        begun = outbox.state.begun()
        outbox.ask(
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
        sequencer.do_again()


def _go_on_with_tools(sequencer: StepSequencer, outbox: Outbox) -> None:
    if not outbox.state.unknown:
        sequencer.restart_timeout()
        sequencer.dialogue.tool_told()


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
