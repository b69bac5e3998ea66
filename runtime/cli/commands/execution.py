"""`cortex execution`: what ran, how it went, and what is to become of it."""

import time

import click
import msgspec

from cortex.bus.events import (
    ExecutionCancel,
    ExecutionFinish,
    ExecutionPause,
    ExecutionRated,
)
from cortex.runtime.executions.view import (
    ExecutionSummary,
    History,
    Hit,
    cells_of,
    document_of,
    find_executions,
    row_of,
    rows_of,
    worktree_of,
)
from cortex.runtime.kernel import Home
from cortex.runtime.processes.catalog import Catalog
from cortex.runtime.projections import REQUESTS

from .. import running  # not its names: what only reads gets along without a runtime
from ..completing import actions_of_goals, execution_ids, process_names
from ..exits import OK, WAITING
from ..options import question_of, with_home, with_screen
from ..outcome import show_execution
from ..screen import Screen
from ..tree import Family, Lazy

NARROW = 100  # columns of a terminal, below which a list leaves out `took` and `tokens`
SPARED = (4, 5)  # their places
HEADERS = ("execution", "status", "process", "requested", "took", "tokens", "about")
STATUSES = ("requested", "running", "paused", "halted", "completed", "failed", "cancelled")


class FoundExecution(ExecutionSummary, kw_only=True):
    """An execution that was found."""

    score: float  # 1 is the best by words and meaning; links may add to it
    why: dict[str, float]  # the parts of the score


# What a list does not need: half of its time would go into importing it.
LATER = {
    "approve": Lazy("execution_approve:approve", "Answer a gate as the client whose token it is."),
    "edit": Lazy("execution_edit:edit", "Change the prompt that a breakpoint shows."),
    "resume": Lazy(
        "execution_resume:resume", "Continue a paused, halted or interrupted execution."
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
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True)
@with_home
@with_screen
def list_(
    status: str | None, process: str, children: bool, limit: int, home: Home, screen: Screen
) -> None:
    """List executions, the newest first."""
    with History.open(home) as history:
        found = _rows(history, status, process, children=children, limit=limit)
        catalog = Catalog(history) if process and not found else None
    if catalog is not None and process not in catalog.names():
        screen.note(str(catalog.unknown(process)), "yellow")
    _show_rows(screen, found)


@execution.command()
@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@with_home
@with_screen
def find(words: tuple[str, ...], limit: int, home: Home, screen: Screen) -> None:
    """Find the executions that match TEXT best, best first.

    TEXT is ordinary words: "the run that failed on tomlkit". The search covers goal, process,
    inputs, status, reason, verdict, and the results and errors of steps.
    """
    question = question_of(words)
    with History.open(home) as history:
        found = find_executions(history, question, limit)
        rows = [_found(history, hit) for hit in found.hits]
    screen.document(rows)
    for note in found.notes:
        screen.note(note, "yellow")
    if rows:
        screen.table(
            ("score", "execution", "status", "process", "about"),
            (
                (f"{r.score:.2f}", r.id, r.status, r.process or "(ad hoc)", r.reason or r.goal)
                for r in rows
            ),
        )
    else:
        screen.line("no execution has to do with that: `cortex execution list` shows all")


@execution.command()
@click.argument("execution_id", metavar="EXECUTION", shell_complete=execution_ids)
@with_home
@with_screen
def show(execution_id: str, home: Home, screen: Screen) -> None:
    """Show the inputs, the state and the outcome of an execution."""
    with History.open(home) as history:
        found = history.execution_id(execution_id)
        state = history.execution(found)
        document = document_of(state, rows_of(history, found), history.blobs)
        document.waiting = running.waiting_for(history, found)
        document.worktree = worktree_of(home, state.tree or found)
    show_execution(screen, document)


@execution.command()
@click.argument("execution_id", metavar="EXECUTION", shell_complete=execution_ids)
@click.option("--reason", default="", help="Why, for the record.")
@with_home
@with_screen
def pause(execution_id: str, reason: str, home: Home, screen: Screen) -> int:
    """Pause an execution before its next step; `resume` continues it."""
    with running.Session.open(home, screen) as session:
        found = session.known(execution_id)
        code = session.pause(found, ExecutionPause(execution_id=found, reason=reason))
    return OK if code == WAITING else code


@execution.command()
@click.argument("execution_id", metavar="EXECUTION", shell_complete=execution_ids)
@click.option("--reason", default="", help="Why, for the record.")
@with_home
@with_screen
def cancel(execution_id: str, reason: str, home: Home, screen: Screen) -> int:
    """End an execution without a result."""
    with running.Session.open(home, screen) as session:
        found = session.known(execution_id)
        return session.cancel(found, ExecutionCancel(execution_id=found, reason=reason))


@execution.command(name="do")
@click.argument("execution_id", metavar="EXECUTION", shell_complete=execution_ids)
@click.argument("action", default="", shell_complete=actions_of_goals)
@click.option("-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="A parameter.")
@click.option("--note", default="", help="Why, for the record.")
@with_home
@with_screen
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
            _show_actions(screen, running.actions_of(history, history.execution_id(execution_id)))
        return OK
    pairs = running.pairs_of(inputs, "NAME")
    with running.Session.open(home, screen) as session:
        found = session.known(execution_id)
        event = running.proposal(session.history, found, action, pairs, note, session.seen)
        running.refuse_secrets(event.parameters, running.mask_of(home))
        return session.act(found, event)


@execution.command()
@click.argument("execution_id", metavar="EXECUTION", shell_complete=execution_ids)
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
@with_home
@with_screen
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
    given = running.pairs_of(outputs, "NAME")
    with running.Session.open(home, screen) as session:
        found = session.known(execution_id)
        event = ExecutionFinish(execution_id=found, outputs=dict(given), gave_up=give_up, note=note)
        return session.finish(found, event)


@execution.command()
@click.argument("execution_id", metavar="EXECUTION", shell_complete=execution_ids)
@click.argument("verdict", type=click.Choice(("good", "bad", "mixed")))
@click.option("--note", default="", help="Why, for the record.")
@with_home
@with_screen
def rate(execution_id: str, verdict: str, note: str, home: Home, screen: Screen) -> None:
    """Say how good an execution's outcome was."""
    with running.Session.open(home, screen) as session:
        found = session.known(execution_id)
        session.publish(ExecutionRated(execution_id=found, verdict=verdict, note=note))
        screen.document(session.document(found))
    screen.line(f"execution {found} was rated {verdict}")


def _show_actions(screen: Screen, actions: "list[running.ActionItem]") -> None:
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


def _found(history: History, hit: Hit) -> FoundExecution:
    row = row_of(history.execution(hit.key), rows_of(history, hit.key))
    return FoundExecution(**msgspec.structs.asdict(row), score=hit.score, why=hit.why)


def _rows(
    history: History,
    status: str | None,
    process: str,
    *,
    children: bool,
    limit: int,
) -> list[ExecutionSummary]:
    found: list[ExecutionSummary] = []
    for record in history.newest(REQUESTS):
        if record.version != 1 or not record.correlation:  # a second request for the same
            continue
        state = history.execution(record.correlation)
        if (state.parent and not children) or (status and state.status != status):
            continue
        row = row_of(state, rows_of(history, record.correlation))
        if process and row.process != process:
            continue
        row.waiting = running.waiting_for(history, record.correlation)
        found.append(row)
        if len(found) == limit:
            break
    return found


def _show_rows(screen: Screen, found: list[ExecutionSummary]) -> None:
    screen.document(found)
    if not screen.terminal:
        screen.table(HEADERS, map(cells_of, found))
    elif found:
        now_ns = time.time_ns()
        table = [HEADERS, *(cells_of(row, now_ns) for row in found)]
        spared = SPARED if screen.width < NARROW else ()
        kept = [[c for n, c in enumerate(row) if n not in spared] for row in table]
        screen.table(kept[0], kept[1:])
    else:
        screen.line("no executions: `cortex run PROCESS` makes one")
