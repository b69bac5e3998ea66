"""How a command leaves an execution before its end: after Ctrl-C, SIGTERM, or with no answer."""

import logging
from typing import TYPE_CHECKING

from cortex.bus.events import ExecutionPause
from cortex.runtime.executions.view import (
    LEAVING,
    LEFT_TO_HUB,
    LEFT_TO_PAUSE,
    LEFT_WAITING,
    UNTAKEN,
    what_pausing_does,
)

from ..exits import INTERRUPTED, TERMINATED
from ..outcome import hints_of
from .progress import Progress
from .questions import CTRL_C
from .untaken import untaken_action

if TYPE_CHECKING:
    from .station import Station

UNTAKEN_S = 0.5  # after Ctrl-C, for a step that nobody has taken: somebody may be about to


def interrupted(station: "Station", progress: Progress) -> int:
    """Pause after Ctrl-C; a second one does not wait for the step at hand."""
    execution_id = progress.execution_id
    asker, asked = station.asked(execution_id)
    if asked is not None:
        return unanswered(station, asker)  # it waits already
    state = station.history.execution(execution_id)
    try:
        if state.status == "requested":
            _leave(station, execution_id)  # it has no step between which it could pause
            return INTERRUPTED
        if not state.over and state.status not in ("paused", "halted"):
            station.screen.note(what_pausing_does(state))
            station.publish(ExecutionPause(execution_id=execution_id, reason=CTRL_C))
            _until_paused(station, progress)
    except KeyboardInterrupt:
        _leave(station, execution_id)
        return INTERRUPTED
    if (state := station.history.execution(execution_id)).over:
        return station.shown(execution_id)  # the step at hand was its last
    station.screen.note(f"execution {execution_id} is {state.status}", "yellow")
    _say_how_to_go_on(station, execution_id)
    return INTERRUPTED


def terminated(station: "Station", execution_id: str) -> int:
    """Leave after SIGTERM, which waits for no step and no answer."""
    asker, asked = station.asked(execution_id)
    if asked is not None or station.history.execution(asker).status in ("paused", "halted"):
        unanswered(station, asker)
    else:
        _leave(station, execution_id)
    return TERMINATED


def unanswered(station: "Station", execution_id: str) -> int:
    """Leave a question open that was not answered but interrupted."""
    station.screen.note("")
    station.screen.note(f"execution {execution_id} waits until it is answered", "yellow")
    _say_how_to_go_on(station, execution_id)
    return INTERRUPTED


def _until_paused(station: "Station", progress: Progress) -> None:
    """Wait for the step at hand, if somebody has taken it; what is not shown yet is shown.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed again; or nobody has, and maybe nobody ever does.
    """
    if _untaken(station, progress.execution_id):
        if progress.until_stopped(patience_s=UNTAKEN_S):
            return
        if action := _untaken(station, progress.execution_id):
            station.screen.note(UNTAKEN.format(action), "yellow")
            raise KeyboardInterrupt
    progress.until_stopped()


def _untaken(station: "Station", execution_id: str) -> str:
    """The action that waits on the hub for somebody to take it; "" where none does."""
    if station.ground.embedded:
        return ""  # its components are here, and take it in a moment
    return untaken_action(station.history, station.ground.log, execution_id)


def _leave(station: "Station", execution_id: str) -> None:
    """Leave in the middle of a step."""
    said, verbs = LEAVING, ["resume"]
    if not station.ground.embedded:
        state = station.history.execution(execution_id)
        said, verbs = LEFT_TO_HUB, ["show", "pause"]
        if state.status == "requested":  # it has no step between which it could pause
            said, verbs = LEFT_WAITING, ["show", "cancel"]
        elif state.pausing is not None:
            said, verbs = LEFT_TO_PAUSE, ["resume"]
    station.screen.note(said.format(execution_id), "yellow")
    for verb in verbs:
        station.screen.note(f"cortex execution {verb} {execution_id}", "cyan")
    station.screen.document(station.document(execution_id))
    # Calls that are dropped in the middle are what was asked for, not news.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    station.ground.leave()


def _say_how_to_go_on(station: "Station", execution_id: str) -> None:
    document = station.document(execution_id)
    station.screen.document(document)
    station.screen.note(hints_of(document)[0], "cyan")
