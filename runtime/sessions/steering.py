"""A person's requests to an execution: pause, resume, change, cancel, finish, or take an action.

Each is checked against the state of the execution; a refusal says what to do instead.
"""

from msgspec.structs import replace

from cortex.bus.events import (
    ContextEdit,
    ExecutionBreak,
    ExecutionBreakpointsChanged,
    ExecutionCancel,
    ExecutionEdit,
    ExecutionFinish,
    ExecutionPause,
    ExecutionRefused,
    ExecutionResume,
    StepPropose,
    StepSettle,
)
from cortex.runtime.executions import GOAL, VERDICTS, Execution
from cortex.runtime.executions.view import open_gate, rows_of
from cortex.runtime.kernel import RefusedError
from cortex.runtime.projections import STREAM

from . import leaving
from .errors import LeftOpenError, Terminated, WaitingError
from .goals.goals import goal_at_hand_of
from .inputs import refuse_breaks
from .session import Ending, Session
from .settlements import refuse_step, refuse_unanswered, refuse_unsettled
from .starting import ran_by

STANDS_ANEW = "the start of this command stopped it as follows: resume once more to continue"


def pause(session: Session, event: ExecutionPause) -> Ending:
    """Pause an execution; as `Session.run`.

    Raises:
        RefusedError: It has ended, or has no steps to pause between.
    """
    state = _with_steps(session, event.execution_id)
    if state.status in ("paused", "halted"):
        return session.shown(event.execution_id)
    return session.run(event.execution_id, event)


def resume(session: Session, event: ExecutionResume) -> Ending:
    """Continue an execution; as `Session.run`.

    Raises:
        RefusedError: It has ended, is running, or has not reached the named step.
        WaitingError: It waits for an answer, and none was given.
    """
    execution_id = event.execution_id
    state = _with_steps(session, execution_id)
    event = replace(event, seen=session.seen)
    refuse_unsettled(session.history, execution_id)
    if state.status in ("paused", "halted") and state.stood > session.seen:
        session.front.note(STANDS_ANEW, "yellow")  # a resume never answers a later question
        return session.shown(execution_id)
    if event.from_step:
        refuse_step(state, event.from_step)
        return session.run(execution_id, event)
    asker, asked = session.asked(execution_id)
    if asked is not None:
        if event.answer in VERDICTS:
            raise RefusedError(
                f"execution {asker} wants an answer, not a verdict: "
                f"`cortex execution resume {asker} --answer TEXT`"
            )
        return session.follow(execution_id, asked - 1, event.answer or event.note)
    if event.answer and event.answer not in VERDICTS:
        raise RefusedError(f"execution {execution_id} does not ask a person in a model's place")
    if state.status not in ("paused", "halted"):
        # It was interrupted, and continues by itself under a running runtime.
        last = session.history.stream(STREAM + execution_id)[-1]
        return session.follow(execution_id, last.position - 1)
    return _answered(session, state, event)


def _answered(session: Session, state: Execution, event: ExecutionResume) -> Ending:
    """Continue a stopped execution, with the answer to its gate."""
    execution_id = state.execution_id
    if state.fan is not None and state.question and not event.answer:
        refuse_unanswered(state)
    if state.question and state.reason != GOAL and not event.answer:
        seen = session.client.head
        try:
            answer = session.front.gate_answer(session.document(execution_id), state.question)
        except LeftOpenError:
            leaving.unanswered(session, execution_id)
            return Ending.INTERRUPTED
        except Terminated:
            leaving.terminated(session, execution_id)
            return Ending.TERMINATED
        if not answer:
            raise WaitingError(execution_id, state.question)
        event = replace(event, answer=answer, seen=seen)
    if event.answer:
        event = replace(event, gate=open_gate(session.history, execution_id))
    return session.run(execution_id, event)


def edit(session: Session, event: ExecutionEdit | StepSettle | ContextEdit) -> Ending:
    """Go on with what a person changed; as `Session.run`, and refused as `pause` is."""
    _with_steps(session, event.execution_id)
    at = session.publish(event)
    ending = session.follow(event.execution_id, at - 1)
    # Its state is unchanged, perhaps at a breakpoint; that is no success.
    return Ending.FAILED if _was_refused(session, event.execution_id, at) else ending


def set_breakpoints(
    session: Session, event: ExecutionBreak
) -> tuple[ExecutionBreakpointsChanged, Ending | None]:
    """Pause before other steps; what is set now, and how it ended if it went on in this command.

    Raises:
        NotFoundError: It has no such step.
        RefusedError: It has ended, or nothing would change.
    """
    execution_id = event.execution_id
    process = ran_by(session.history, _with_steps(session, execution_id))
    if process is not None:
        refuse_breaks(process, (*event.add, *event.remove))
    found, position = session.answer_to(event, ExecutionBreakpointsChanged, ExecutionRefused)
    if isinstance(found, ExecutionRefused):
        raise RefusedError(f"execution {execution_id}: {found.reason}")
    running = session.history.execution(execution_id).status == "running"
    if not (running and session.opened.embedded):
        return found, None
    return found, session.follow(execution_id, position)  # it would end with the session


def cancel(session: Session, event: ExecutionCancel) -> None:
    """Cancel an execution.

    Raises:
        RefusedError: It has ended.
    """
    _unfinished(session, event.execution_id, "there is nothing to cancel")
    session.run(event.execution_id, event)


def finish(session: Session, event: ExecutionFinish) -> Ending:
    """End the work towards a goal; as `Session.run`.

    Raises:
        RefusedError: It has ended, or has no current goal.
    """
    execution_id = event.execution_id
    state = _unfinished(session, execution_id, "there is nothing to finish")
    if not state.adhoc:
        goal_at_hand_of(session.history, execution_id)
    if event.outputs and not state.adhoc:
        raise RefusedError(
            f"execution {execution_id} is led, and gives what was reached: say it with --note"
        )
    if state.status == "running" and not state.adhoc:
        raise RefusedError(f"execution {execution_id} is at work: pause it first")
    return session.run(execution_id, replace(event, seen=session.seen))


def act(session: Session, event: StepPropose) -> Ending:
    """Do something towards a goal; as `Session.run`, and FAILED where it was not done.

    Raises:
        RefusedError: The execution has ended.
    """
    execution_id = event.execution_id
    state = _unfinished(session, execution_id)
    if state.status == "running":
        raise RefusedError(f"execution {execution_id} is at work: pause it first")
    ending = session.run(execution_id, event)
    after = session.history.execution(execution_id)
    if len(after.grown) == len(state.grown):
        return Ending.FAILED  # it was refused
    done = after.statuses.get(after.grown[len(state.grown)].step_id, "")
    return Ending.FAILED if done == "failed" else ending


def _was_refused(session: Session, execution_id: str, asked: int) -> bool:
    rows = rows_of(session.history, execution_id)
    others = {record.position: record.topic for record, _ in rows if record.position != asked}
    return any(
        isinstance(event, ExecutionRefused)
        and record.position > asked
        and others.get(record.causation or 0) != event.asked
        for record, event in rows
    )


def _unfinished(
    session: Session, execution_id: str, instead: str = "run it again instead"
) -> Execution:
    state = session.history.execution(execution_id)
    if state.over:
        raise RefusedError(f"execution {execution_id} is {state.status}: {instead}")
    return state


def _with_steps(session: Session, execution_id: str) -> Execution:
    state = _unfinished(session, execution_id)
    if state.adhoc:
        raise RefusedError(
            f"execution {execution_id} runs no process and is open until it is ended: "
            f"`cortex execution finish {execution_id}`, or cancel"
        )
    return state
