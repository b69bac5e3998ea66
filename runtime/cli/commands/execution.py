"""`cortex execution`: list, inspect, continue and cancel executions."""

import time
from functools import partial

import click

from cortex.bus.events import (
    ExecutionCancel,
    ExecutionFinish,
    ExecutionPause,
    ExecutionRated,
)
from cortex.runtime import sessions  # not its names: what only reads gets along without a runtime
from cortex.runtime.executions.view import ExecutionSummary, History, cells_of
from cortex.runtime.kernel import Home
from cortex.runtime.processes.catalog import Catalog

from .. import terminal  # as sessions
from ..completing import actions_of_goals, process_names, with_execution
from ..exits import OK, WAITING, exit_code
from ..options import at_home, question_of, with_limit, with_note, with_past, with_reason, words
from ..outcome import show_execution
from ..screen import Columns, Screen
from ..tree import Family, Lazy

NARROW = 100  # columns of a terminal, below which a list leaves out some
SPARED = ("took", "tokens")
NO_EXECUTIONS = "no executions: `cortex run PROCESS` makes one"
HEADERS = ("execution", "status", "process", "requested", "took", "tokens", "about")
FOUND: Columns = {
    "score": lambda row: f"{row.score:.2f}",
    "execution": "id",
    "status": "status",
    "process": lambda row: row.process or "(ad hoc)",
    "about": lambda row: row.reason or row.goal,
}
STATUSES = ("requested", "running", "paused", "halted", "completed", "failed", "cancelled")

# What a list does not need: half of its time would go into importing it.
LATER = {
    "approve": Lazy("execution_change:approve", "Answer a gate as the client whose token it is."),
    "break": Lazy("execution_change:break_", "Pause before steps, or no longer."),
    "edit": Lazy("execution_change:edit", "Change the prompt that a breakpoint shows."),
    "resume": Lazy(
        "execution_change:resume", "Continue a paused, halted or interrupted execution."
    ),
}


@click.group(cls=Family, later=LATER)
def execution() -> None:
    """Show executions and control them."""


@execution.command(name="list")
@click.option("--status", type=click.Choice(STATUSES), help="Only executions with this status.")
@click.option(
    "--process",
    default="",
    shell_complete=process_names,
    help="Only executions of this process.",
)
@click.option("--children", is_flag=True, help="Also executions that run as a step of another.")
@with_limit(20)
@at_home
@with_past
def list_(
    status: str | None, process: str, children: bool, limit: int, home: Home, screen: Screen
) -> None:
    """List executions, the newest first."""
    with History.open(home) as history:
        found = sessions.newest_executions(
            history, limit, status=status or "", process=process, children=children
        )
        catalog = Catalog(history) if process and not found else None
    if catalog is not None and process not in catalog.names():
        screen.note(str(catalog.unknown(process)), "yellow")
    _show_rows(screen, found)


@execution.command()
@words
@with_limit(10, 100)
@at_home
@with_past
def find(words: tuple[str, ...], limit: int, home: Home, screen: Screen) -> None:
    """Find the executions that match TEXT best, best first.

    TEXT is ordinary words: "the run that failed on tomlkit". The search covers goal, process,
    inputs, status, reason, verdict, and the results and errors of steps.
    """
    with History.open(home) as history:
        rows, notes = sessions.matching_executions(history, question_of(words), limit)
    screen.notes(notes)
    none = "no execution has to do with that: `cortex execution list` shows all"
    screen.rows(rows, FOUND, empty=none)


@execution.command()
@with_execution
@at_home
@with_past
def show(execution_id: str, home: Home, screen: Screen) -> None:
    """Show the inputs, the state and the outcome of an execution."""
    with History.open(home) as history:
        document = sessions.standing_document(history, history.execution_id(execution_id))
    show_execution(screen, document, past=home.as_of is not None)


@execution.command()
@with_execution
@with_reason
@at_home
def pause(execution_id: str, reason: str, home: Home, screen: Screen) -> int:
    """Pause an execution before its next step; `resume` continues it."""
    with terminal.open_session(home, screen) as session:
        event = ExecutionPause(execution_id=session.known(execution_id), reason=reason)
        code = exit_code(sessions.steering.pause(session, event))
    return OK if code == WAITING else code


@execution.command()
@with_execution
@with_reason
@at_home
def cancel(execution_id: str, reason: str, home: Home, screen: Screen) -> None:
    """End an execution without a result."""
    with terminal.open_session(home, screen) as session:
        event = ExecutionCancel(execution_id=session.known(execution_id), reason=reason)
        sessions.steering.cancel(session, event)


@execution.command(name="do")
@with_execution
@click.argument("action", default="", shell_complete=actions_of_goals)
@click.option("-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="A parameter.")
@with_note
@at_home
def do_(
    execution_id: str, action: str, inputs: tuple[str, ...], note: str, home: Home, screen: Screen
) -> int:
    """Take an action towards the goal of an execution.

    ACTION is an action or a process that the execution allows. It becomes a step of the execution
    and is recorded like any other; then the execution waits for the next action, or asks its model.
    `finish` says that the goal is reached. Without ACTION, the command shows all allowed actions
    with their parameters.
    """
    if not action:
        if inputs or note:
            raise click.UsageError("name the ACTION that takes them")
        with History.open(home) as history:
            _show_actions(screen, sessions.actions_of(history, history.execution_id(execution_id)))
        return OK
    pairs = sessions.pairs_of(inputs, "NAME")
    with terminal.open_session(home, screen) as session:
        found = session.known(execution_id)
        event = sessions.proposal(session.history, found, action, pairs, note, session.seen)
        sessions.refuse_secrets(event.parameters, sessions.mask_of(home))
        return exit_code(sessions.steering.act(session, event))


@execution.command()
@with_execution
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="An output, for work without a process.",
)
@click.option("--give-up", is_flag=True, help="The goal is not reached, and the execution ends.")
@click.option("--note", default="", help="What was reached, or why you give it up.")
@at_home
def finish(
    execution_id: str,
    outputs: tuple[str, ...],
    give_up: bool,
    note: str,
    home: Home,
    screen: Screen,
) -> int:
    """Say that the goal of an execution is reached.

    With --give-up, say that you give it up. Cortex does not run the check of the goal; it records
    this as a person's statement.
    """
    given = sessions.pairs_of(outputs, "NAME")
    with terminal.open_session(home, screen) as session:
        found = session.known(execution_id)
        event = ExecutionFinish(execution_id=found, outputs=dict(given), gave_up=give_up, note=note)
        return exit_code(sessions.steering.finish(session, event))


@execution.command()
@with_execution
@click.argument("verdict", type=click.Choice(("good", "bad", "mixed")))
@with_note
@at_home
def rate(execution_id: str, verdict: str, note: str, home: Home, screen: Screen) -> None:
    """Say how good an execution's outcome was."""
    with terminal.open_session(home, screen) as session:
        found = session.known(execution_id)
        session.publish(ExecutionRated(execution_id=found, verdict=verdict, note=note))
        screen.document(session.document(found))
    screen.line(f"execution {found} was rated {verdict}")


def _show_actions(screen: Screen, actions: "list[sessions.ActionItem]") -> None:
    screen.document(actions)
    for each in actions:
        screen.line(each.name, "bold")
        screen.paragraph(each.about, lead="  ")
        for parameter in each.takes:
            told = f": {parameter.about}" if parameter.about else ""
            told += "" if parameter.required else "  (may be left out)"
            screen.paragraph(f"-i {parameter.name}={parameter.type}{told}", lead="    ")
        if each.laid_down:
            screen.paragraph(f"{', '.join(each.laid_down)}: fixed", lead="    ")
        if each.gates:
            screen.paragraph(f"after {', '.join(each.gates)}", lead="    ")


def _show_rows(screen: Screen, found: list[ExecutionSummary]) -> None:
    now_ns = time.time_ns() if screen.terminal else None
    columns: Columns = {
        header: partial(_cell, place=place, now_ns=now_ns)
        for place, header in enumerate(HEADERS)
        if screen.width >= NARROW or header not in SPARED
    }
    screen.rows(found, columns, empty=NO_EXECUTIONS if screen.terminal else "")


def _cell(row: ExecutionSummary, *, place: int, now_ns: int | None) -> str:
    return cells_of(row, now_ns)[place]
