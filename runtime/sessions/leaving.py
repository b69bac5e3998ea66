"""Leaves an execution before its end: after Ctrl-C or SIGTERM, or without an answer."""

import logging
from typing import TYPE_CHECKING

from cortex.bus.events import ExecutionPause
from cortex.runtime.executions.view import (
    LEAVING,
    LEFT_TO_HUB,
    LEFT_TO_PAUSE,
    LEFT_WAITING,
    UNTAKEN,
    hints_of,
    what_pausing_does,
)

from .progress import Progress
from .untaken import untaken_action

if TYPE_CHECKING:
    from .session import Session

CTRL_C = "interrupted by Ctrl-C"
UNTAKEN_S = 0.5  # after Ctrl-C, for an unclaimed step: a worker may be about to take it


def interrupted(session: "Session", progress: Progress) -> bool:
    """Pause after Ctrl-C; a second one does not wait for the step at hand.

    Returns:
        Whether it ended instead: the step at hand was its last.
    """
    execution_id = progress.execution_id
    asker, asked = session.asked(execution_id)
    if asked is not None:
        unanswered(session, asker)  # it waits already
        return False
    state = session.history.execution(execution_id)
    try:
        if state.status == "requested":
            _leave(session, execution_id)  # it has no step between which it could pause
            return False
        if not state.over and state.status not in ("paused", "halted"):
            session.front.note(what_pausing_does(state))
            session.publish(ExecutionPause(execution_id=execution_id, reason=CTRL_C))
            _until_paused(session, progress)
    except KeyboardInterrupt:
        _leave(session, execution_id)
        return False
    if (state := session.history.execution(execution_id)).over:
        return True
    session.front.note(f"execution {execution_id} is {state.status}", "yellow")
    _say_how_to_go_on(session, execution_id)
    return False


def terminated(session: "Session", execution_id: str) -> None:
    """Leave after SIGTERM, which waits for no step and no answer."""
    asker, asked = session.asked(execution_id)
    if asked is not None or session.history.execution(asker).status in ("paused", "halted"):
        unanswered(session, asker)
    else:
        _leave(session, execution_id)


def unanswered(session: "Session", execution_id: str) -> None:
    """Leave a question open that was not answered but interrupted."""
    session.front.note("")
    session.front.note(f"execution {execution_id} waits until it is answered", "yellow")
    _say_how_to_go_on(session, execution_id)


def _until_paused(session: "Session", progress: Progress) -> None:
    """Wait for the current step, if a worker has taken it, and show the remaining events.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed again, or no worker has taken the step.
    """
    if _untaken(session, progress.execution_id):
        if progress.until_stopped(patience_s=UNTAKEN_S):
            return
        if action := _untaken(session, progress.execution_id):
            session.front.note(UNTAKEN.format(action), "yellow")
            raise KeyboardInterrupt
    progress.until_stopped()


def _untaken(session: "Session", execution_id: str) -> str:
    """The action that waits on the hub for somebody to take it; "" where none does."""
    if session.opened.embedded:
        return ""  # its components are here, and take it in a moment
    return untaken_action(session.history, session.opened.log, execution_id)


def _leave(session: "Session", execution_id: str) -> None:
    """Leave in the middle of a step."""
    said, verbs = LEAVING, ["resume"]
    if not session.opened.embedded:
        state = session.history.execution(execution_id)
        said, verbs = LEFT_TO_HUB, ["show", "pause"]
        if state.status == "requested":  # it has no step between which it could pause
            said, verbs = LEFT_WAITING, ["show", "cancel"]
        elif state.pausing is not None:
            said, verbs = LEFT_TO_PAUSE, ["resume"]
    session.front.note(said.format(execution_id), "yellow")
    for verb in verbs:
        session.front.note(f"cortex execution {verb} {execution_id}", "cyan")
    session.front.document(session.document(execution_id))
    # Calls that are dropped in the middle are what was asked for, not news.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    session.opened.leave()


def _say_how_to_go_on(session: "Session", execution_id: str) -> None:
    document = session.document(execution_id)
    session.front.document(document)
    session.front.note(hints_of(document)[0], "cyan")
