"""What an execution does about a goal: next turn, a person's choice, the check of the goal.

The chosen steps run like all other steps, by the same sequencer; see `goals` for their fold.
"""

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from cortex.bus.events import (
    ActionObserved,
    ExecutionFinish,
    GateEvaluated,
    StepCompleted,
    StepPropose,
)
from cortex.runtime.processes import LinkedGate, LinkedStep, did_you_mean

from ..state.asked import asker
from ..state.goals import GOAL, come_back, pending
from ..state.spending import spent
from ..state.state import Execution
from ..state.values import clipped
from .choices import said_reached
from .growing import goal_at_hand, left_s, propose
from .outbox import UNSEEN, Outbox
from .requests import context_compile

if TYPE_CHECKING:
    from .step_sequencer import StepSequencer

APPROVED: Final = "approved"  # the gate that asks a person
NO_GOAL: Final = "its current step has no goal"
CLAIMS: Final = 4  # in a row and in vain, that the goal is reached: then the work ends
SHOWN_CHARS: Final = 600  # of what was said, in a question or a verdict
EVIDENCE_CHARS: Final = 4_000


def gates_of(step: LinkedStep) -> tuple[LinkedGate, ...]:
    """The gates of *step*, and after them those that check its goal."""
    return step.gates if step.goal is UNSET else (*step.gates, *step.goal.check)


def hold(outbox: Outbox, step: LinkedStep, why: str = "") -> None:
    """Let a person say what is done next towards the goal of *step*."""
    because = f" ({why})" if why else ""
    outbox.pause(GOAL, step.id, question=clipped(f"What should be done next?{because}"))


def goes_on(sequencer: "StepSequencer", outbox: Outbox, step: LinkedStep) -> bool:
    """Go on with the work towards the goal of *step*; False where none is under way."""
    state = outbox.state
    pursuit = state.pursuit
    if pursuit is None or pursuit.step_id != step.id or step.goal is UNSET:
        return False
    if state.pausing is not None:
        outbox.pause(state.pausing, step.id)
    elif not pursuit.away:
        check(sequencer, outbox)
    elif step.goal.by_hand:
        hold(outbox, step)
    else:
        said = pursuit.note and f"a person says: {pursuit.note}"
        next_turn(sequencer, outbox, step, said)
    return True


def next_turn(
    sequencer: "StepSequencer", outbox: Outbox, step: LinkedStep, verdict: str = ""
) -> None:
    """Show the model of *step* the outcome of its choice, or why the goal is not reached."""
    pursuit = outbox.state.pursuit
    if pursuit is None:
        return
    state = come_back(outbox.state, step.id)
    time_s = left_s(outbox.state, step, outbox.now_ns)
    problem = spent(state, step)
    kind = "budget"
    if problem is None and time_s is not None and time_s <= 0:
        problem = f"the time that {step.id} has for its goal is over"
        kind = "budget" if step.budget.time_s is not None else "timeout"
    if problem is None:
        turn, attempt = state.turn + 1, pursuit.attempt
        given = state.parameters
        asked = context_compile(
            state, sequencer.process, step, attempt, given, turn, verdict=verdict
        )
        problem, kind = outbox.ask(asked), "refused"
    if problem:
        sequencer.recover(
            outbox.fail_step(step.id, pursuit.attempt, problem, kind, retry=kind == "timeout")
        )
    elif time_s is not None:
        budget = replace(step.budget, time_s=time_s if step.budget.time_s is not None else None)
        bound = time_s if step.timeout_s is not None else None
        outbox.set_timeout(replace(step, timeout_s=bound, budget=budget))


def check(sequencer: "StepSequencer", outbox: Outbox) -> None:
    """It was said that the goal is reached: ask the next gate that checks it, or take it so."""
    state, step = outbox.state, sequencer.step
    gates = gates_of(step)
    if state.gates_passed < len(gates):
        sequencer.ask_gate(step.id, state.gates_passed, gates[state.gates_passed])
        return
    by = state.compiled.model if state.compiled is not None else ""
    checked = step.goal.check if step.goal is not UNSET else ()
    by = ", ".join(gate.name for gate in checked) or by
    _reached(sequencer, outbox, step, said_reached(state.answer), by)


def judged(sequencer: "StepSequencer", outbox: Outbox, event: GateEvaluated) -> bool:
    """Handle a gate that did not pass and that stops nothing.

    It checks a goal, or an action chosen towards one: its reason goes to the chooser.
    """
    state = outbox.state
    if state.pursuit is None or not event.step_id:
        return False
    step = sequencer.step
    if step.goal is not UNSET and event.index >= len(step.gates):
        said = f" {state.pursuit.note}" if state.pursuit.note else ""
        reason = event.reason or "it gives no reason"
        if state.pursuit.claims + 1 >= CLAIMS and event.gate != APPROVED:
            error = f"the model said {CLAIMS} times in a row that the goal is reached: {reason}"
            sequencer.fail(error, "wrong_answer", retry=False)
            return True
        verdict = f"{event.gate} did not pass: {reason}{said}\n{_evidence(event.evidence)}".strip()
        next_turn(sequencer, outbox, step, verdict[: SHOWN_CHARS + EVIDENCE_CHARS])
        return True
    grown = pending(state)
    if grown is None or grown.step_id != event.step_id:
        return False
    note = f" ({state.pursuit.note})" if state.pursuit.note else ""
    error = f"gate {event.gate} did not pass: {event.reason or 'it gives no reason'}{note}"
    attempt = state.attempts.get(step.id, 0) + 1
    sequencer.recover(outbox.fail_step(step.id, attempt, error, "gate", retry=False))
    return True


def about(
    state: Execution, gate: LinkedGate, index: int, parameters: dict[str, Any]
) -> dict[str, Any]:
    """The *parameters* of a gate; of one that asks a person, with what is to be judged."""
    pursuit = state.pursuit
    if gate.name != APPROVED or pursuit is None or "question" in parameters:
        return parameters
    grown = pending(state)
    if grown is not None:
        given = msgspec.json.encode(grown.parameters).decode()[:SHOWN_CHARS]
        return {**parameters, "question": f"Shall {grown.name} be done with {given}?"}
    if pursuit.away or index < pursuit.gates_passed:
        return parameters
    said = said_reached(state.answer).strip()[:SHOWN_CHARS]
    return {**parameters, "question": f"Is the goal reached? {said}".strip()}


def observe(outbox: Outbox, step_id: str, outcome: str) -> None:
    """Record the actions towards a goal, so that a process can be made of them."""
    state = outbox.state
    for grown in state.grown:
        if grown.step_id == step_id:
            observed = ActionObserved(
                execution_id=state.execution_id,
                action=grown.name,
                parameters=grown.parameters,
                outcome=outcome,
                step_id=step_id,
                attempt=state.attempts.get(step_id, 1),
            )
            outbox.say(observed)


def act(sequencer: "StepSequencer", outbox: Outbox, event: StepPropose) -> None:
    """Do what a person chose towards the goal at hand."""
    step = goal_at_hand(sequencer.process, outbox.state)
    refused = _not_to_act(outbox, event.seen) or _gate_before(outbox, step)
    if step is None or step.goal is UNSET:
        refused = refused or NO_GOAL
    else:
        grant = step.goal.grant(event.action)
        if grant is None:
            names = [each.name for each in step.goal.grants]
            known = f"it may do {', '.join(names) or 'nothing'}"
            meant = did_you_mean(event.action, names, known)
            refused = refused or f"{event.action[:80]!r} is not granted to it: {meant}"
        elif not refused:
            by = asker(outbox.source, "")
            given, note = event.parameters, event.note
            refused = propose(outbox, step, grant, given, by=by, note=note) or ""
    if refused:
        outbox.refuse(event, refused)
        return
    outbox.resume(by=asker(outbox.source, ""), note=event.note)
    sequencer.go_on()


def finish(sequencer: "StepSequencer", outbox: Outbox, event: ExecutionFinish) -> None:
    """End the work towards the current goal, as a person asked."""
    state = outbox.state
    if state.adhoc:
        if state.status == "running":
            outbox.complete(event.outputs)
        return
    step = goal_at_hand(sequencer.process, state)
    refused = _not_to_act(outbox, event.seen, finishing=True)
    if not event.gave_up:
        refused = refused or _gate_before(outbox, step)
    if step is None:
        refused = refused or NO_GOAL
    if refused or step is None:
        outbox.refuse(event, refused)
        return
    by = asker(outbox.source, "")
    if grown := pending(state):
        outbox.skip(grown.step_id, "the work towards its goal was ended")
    sequencer.drop_deadlines()
    if state.status in ("paused", "halted"):
        outbox.resume(by=by, note=event.note)
    if event.gave_up:
        _give_up(
            sequencer,
            outbox,
            step,
            f"{by} gave the goal up{': ' if event.note else ''}{event.note}",
        )
    else:
        _reached(sequencer, outbox, step, event.note, by)


def _gate_before(outbox: Outbox, step: LinkedStep | None) -> str:
    """Why the work towards the goal of *step* may not begin: what has to hold first; "" if it may.

    Once it has begun, what passed before counts.
    """
    state = outbox.state
    begun = state.pursuit is not None or state.suspended is not None
    if step is None or begun or state.gates_passed >= len(step.gates):
        return ""
    gate = step.gates[state.gates_passed].name
    return f"gate {gate} of {step.id} comes first: answer it, or resume"


def _not_to_act(outbox: Outbox, seen: int, *, finishing: bool = False) -> str:
    """Why a person may neither choose an action nor end the goal at present; "" if they may."""
    state = outbox.state
    if state.over or state.started is None:
        return f"the execution is {state.status}"
    if state.status == "running":
        return "it is at work: pause it first"
    if not outbox.was_seen(seen):
        return UNSEEN
    if state.unknown or state.effects:
        return "an effect of unknown outcome comes first: say what happened"
    if state.stage in ("child", "cleanup", "handler"):
        return "the chosen action is not done yet: resume, or cancel it"
    grown = pending(state)
    if grown is not None and not finishing:
        return f"{grown.step_id} ({grown.name}) was chosen and is not done yet: resume"
    return ""


def _attempt(state: Execution, step: LinkedStep) -> int:
    at_hand = state.pursuit is not None and state.pursuit.step_id == step.id
    if at_hand and state.pursuit is not None:
        return state.pursuit.attempt
    return state.attempts.get(step.id, 0)


def _give_up(sequencer: "StepSequencer", outbox: Outbox, step: LinkedStep, reason: str) -> None:
    attempt = _attempt(outbox.state, step)
    failed = outbox.fail_step(step.id, attempt, reason, "given_up", retry=False)
    if outbox.state.begun().process:
        sequencer.recover(failed)
    else:
        outbox.fail(reason, step.id)


def _reached(
    sequencer: "StepSequencer", outbox: Outbox, step: LinkedStep, answer: str, by: str
) -> None:
    state = outbox.state
    attempt = _attempt(state, step)
    actions = [each for each in state.grown if (each.goal, each.attempt) == (step.id, attempt)]
    turns = come_back(state, step.id).turn + 1 if _asked_model(state) else 0
    outbox.say(
        StepCompleted(
            execution_id=state.execution_id,
            step_id=step.id,
            attempt=attempt,
            result={"answer": answer, "actions": len(actions), "turns": turns, "by": by},
            summary=clipped(f"reached, says {by}{': ' if answer else ''}{answer}"),
        )
    )
    sequencer.settle()


def _asked_model(state: Execution) -> bool:
    pursuit = state.pursuit
    return state.compiled is not None or (pursuit is not None and pursuit.compiled is not None)


def _evidence(evidence: dict[str, Any]) -> str:
    """What a gate gives for its word, for a model: what was printed last is the most telling."""
    shown = {name: value for name, value in evidence.items() if name not in ("excerpt", "output")}
    printed = str(evidence.get("excerpt") or evidence.get("output") or "")[-EVIDENCE_CHARS:]
    plain = msgspec.json.encode(shown).decode() if shown else ""
    return "\n".join(filter(None, (plain[:SHOWN_CHARS], printed)))
