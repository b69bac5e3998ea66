"""`cortex execution approve`: a person answers a gate as the client whose token they have."""

import time
from contextlib import closing
from pathlib import Path

import click
import msgspec

from cortex.bus import Client, Event, Feed, connect
from cortex.bus.events import (
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResume,
    ExecutionResumed,
    GateEvaluated,
)
from cortex.runtime.access import read_token
from cortex.runtime.executions import is_own
from cortex.runtime.kernel import Home, RefusedError
from cortex.runtime.projections import STREAM
from cortex.runtime.serving import hub_of
from cortex.runtime.sessions import WaitingError

from ..completing import execution_ids
from ..exits import OK
from ..options import with_home, with_screen
from ..screen import Screen

HEARD_S = 60.0  # within which an answer comes to its execution
JUDGED_S = 10.0  # within which its gate says what it makes of it, where that can be seen
TURN_S = 0.5
_ENDS = ("completed", "failed", "cancelled")


class AnsweredDocument(msgspec.Struct):
    """An answer that a gate took."""

    execution: str
    gate: str
    question: str
    answer: str  # "approved" or "denied"
    by: str  # as the hub authenticated whoever gave it


@click.command()
@click.argument("execution_id", metavar="EXECUTION", shell_complete=execution_ids)
@click.option("--deny", is_flag=True, help="Answer the question with no.")
@click.option(
    "--token-file",
    "path",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    required=True,
    metavar="FILE",
    help="File with the token of the client that answers; only its owner may read it.",
)
@click.option("--url", default="", help="The hub's address [default: the home's own hub].")
@click.option("--note", default="", help="Why, for the record.")
@with_home
@with_screen
def approve(
    execution_id: str, deny: bool, path: Path, url: str, note: str, home: Home, screen: Screen
) -> int:
    """Answer a gate as the client whose token you have.

    It answers the gate at which the execution waits. A gate may say who may answer, and may exclude
    the requester of the execution. Then it may not accept the owner of the home, in whose name
    `resume --approve` answers. The client needs `--approve PROCESS/GATE`, and `--read` and
    `--subscribe` of 'execution.*' and 'gate.*'.
    """
    answer = "denied" if deny else "approved"
    with closing(connect(url or hub_of(home).url, token=read_token(path))) as client:
        asked, seen = question_of(client, execution_id)
        said = ExecutionResume(
            execution_id=execution_id, gate=asked.gate, answer=answer, note=note, seen=seen
        )
        with closing(client.follow(("execution.*", None), ("gate.*", None))) as feed:
            at = client.publish(said)
            by = _taken(client, feed, said, at)
    screen.document(AnsweredDocument(execution_id, asked.gate, asked.question, answer, by))
    screen.line(asked.question)
    screen.line(f"{answer} by {by}", "green" if not deny else "yellow")
    return OK


def question_of(client: Client, execution_id: str) -> tuple[ExecutionPaused, int]:
    """The pause with which the execution asks, and the position up to which that was looked for.

    An answer that says so is refused where something else is asked since.

    Raises:
        RefusedError: It asks nothing that this client can see.
    """
    asked: ExecutionPaused | None = None
    seen = client.head  # before the reading: what is said during it may be missed
    for record in client.read_stream(STREAM + execution_id):
        if record.topic in client.vocabulary and is_own(record):
            event = client.vocabulary.read(record)
            if isinstance(event, ExecutionPaused):
                asked = event
            elif isinstance(event, ExecutionResumed) or record.topic.endswith(_ENDS):
                asked = None if record.topic.startswith("execution.") else asked
    if asked is None or not asked.gate:
        raise RefusedError(
            f"no gate of execution {execution_id} asks anything that {client.name} may see: give "
            "the whole id, and look at its grants with `cortex client show`"
        )
    return asked, seen


def _taken(client: Client, feed: Feed, said: ExecutionResume, at: int) -> str:
    """Who answered, once the gate took it.

    Raises:
        RefusedError: The execution does not take it as an answer.
        WaitingError: The gate does not take it from this client, and still asks.
    """
    by, deadline = "", time.monotonic() + HEARD_S
    while time.monotonic() < deadline:
        for record in feed.next(TURN_S):
            if record.position <= at or record.topic not in client.vocabulary:
                continue
            event: Event = client.vocabulary.read(record)
            if getattr(event, "execution_id", "") != said.execution_id:
                continue
            match event:
                case ExecutionRefused() if record.causation == at:
                    raise RefusedError(event.reason)
                case ExecutionResumed() if not by:
                    by, deadline = event.by, min(deadline, time.monotonic() + JUDGED_S)
                case ExecutionPaused() if by and event.gate == said.gate:
                    raise WaitingError(said.execution_id, event.question)
                case GateEvaluated(outcome="passed") | GateEvaluated(outcome="failed") if by:
                    return by
                case ExecutionHalted() if by:
                    return by
                case _:
                    pass
    if by:
        return by  # what the gate made of it is not shown to this client
    raise RefusedError(f"the answer was recorded, but there was no result within {HEARD_S:g} s")
