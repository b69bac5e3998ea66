"""`cortex run`: run a process, or work towards a goal."""

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import click

from cortex.bus.events import ExecutionRequest, TriggerMatched
from cortex.runtime.access import OWNER
from cortex.runtime.kernel import Home
from cortex.runtime.processes import LinkedInterface, LinkedProcess
from cortex.runtime.processes.catalog import Catalog
from cortex.runtime.sessions import is_path

from ..amounts import DOLLARS
from ..completing import process_names_or_files, with_inputs
from ..options import with_any_home, with_running, with_screen
from ..running import (
    NO_CHECKOUT,
    NO_MODEL,
    Session,
    goal_step,
    inputs_of,
    is_in_checkout,
    mask_of,
    most_of,
    pairs_of,
    refuse_breaks,
    refuse_secrets,
    refuse_wrong,
)
from ..screen import Screen

Linked: TypeAlias = LinkedProcess | LinkedInterface
FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


@click.command()
@click.argument("process", required=False, default="", shell_complete=process_names_or_files)
@with_inputs
@click.option(
    "--input-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Inputs as a map in a file, JSON or TOML.",
)
@click.option("--goal", default="", help="What the work is for [default: what PROCESS says].")
@click.option(
    "--workspace", type=FOLDER, default=".", help="The folder that the work is about [default: .]."
)
@click.option("--break", "breaks", multiple=True, metavar="STEP", help="Pause before this step.")
@click.option(
    "--version", type=click.IntRange(min=1), help="Use this version instead of the newest."
)
@click.option(
    "--max-cost",
    type=DOLLARS,
    metavar="USD",
    help="US dollars that its models may cost "
    "[default: `max_cost` in [models]; with --goal 1 if that is not set].",
)
@click.option(
    "--may",
    multiple=True,
    metavar="ACTION",
    help="Towards a goal: an action, or process:NAME, that may be chosen, too; ACTION={...} lays "
    "parameters down, ACTION=any lets a model choose the programs that it starts "
    "[default: run_tests, and all there are for you by hand].",
)
@click.option(
    "--tool",
    "tools",
    multiple=True,
    metavar="NAME",
    help="With --goal: a further tool or pack; those for files and knowledge are offered anyway.",
)
@click.option(
    "--check",
    multiple=True,
    metavar="PROGRAM|GATE",
    help="What decides that the goal is reached: a program that ends with 0, a gate, or "
    "GATE={...} with its parameters [default: you are asked].",
)
@click.option(
    "--turns",
    type=click.IntRange(min=1),
    help="Towards a goal: how often the model is asked [default: 30].",
)
@click.option(
    "--within",
    metavar="TIME",
    help="Towards a goal: how long the work may take, as 90s or 2h [default: 30m].",
)
@click.option(
    "--wait",
    "wait_s",
    type=DOLLARS,
    metavar="SECONDS",
    help="How long to wait if a worker or plugin that the PROCESS needs is away; 0 for not at all "
    "[default, and at most: `wait_s` in [processes]; 5 if no hub is up].",
)
@click.option("--by-hand", is_flag=True, help="You choose the actions towards the goal.")
@with_running
@with_any_home
@with_screen
def run(
    process: str,
    inputs: tuple[str, ...],
    input_file: Path | None,
    goal: str,
    workspace: Path,
    breaks: tuple[str, ...],
    version: int | None,
    max_cost: float | None,
    may: tuple[str, ...],
    tools: tuple[str, ...],
    check: tuple[str, ...],
    turns: int | None,
    within: str | None,
    wait_s: float | None,
    by_hand: bool,
    yes: bool,
    quiet: bool,
    home: Home,
    screen: Screen,
) -> int:
    """Run a process, or work towards a goal without one.

    PROCESS is its name, an interface that it implements, or a file. With --goal and without
    PROCESS, a model chooses allowed actions turn by turn, until the check passes. Each action is a
    recorded step of the execution, so that you can make a process of them. Files change in a
    worktree. If no model is configured, you choose: `cortex execution do`. Progress goes to
    standard error, the result to standard output. Ctrl-C pauses the execution. If you answer in a
    model's place, type the answer and end it with Ctrl-D.
    """
    options = _GoalOptions(may, tools, check, turns, within, by_hand)
    given = pairs_of(inputs, "NAME")
    _refuse_mixed(process, goal, options, has_inputs=bool(given or input_file or version))
    with Session.open(home, screen) as session:
        session.quiet, session.questions.approve = quiet, yes
        path = is_path(process)
        session.submitter.changed("" if path or version else process)
        name = session.submitter.file(Path(process)) if path else process
        linked = _linked(session, name, version)
        values = inputs_of(given, input_file, linked.inputs if linked else ())
        _refuse_unfit(home, linked, values, breaks)
        step: dict[str, Any] = {}
        if not name:
            step = _goal_step(session, home, goal, workspace, options, breaks)
            max_cost = most_of(home, max_cost)
        request = ExecutionRequest(
            execution_id=session.client.new_id(),
            process=name,
            process_version=version or 0,
            inputs=values,
            goal=goal or _about(linked),
            workspace=str(workspace.absolute()),
            trigger=session.client.new_id(),
            breakpoints=breaks,
            max_cost=max_cost,
            wait_s=session.wait_s if wait_s is None else wait_s,
            step=step,
        )
        return session.run(request.execution_id, _trigger_of(request, linked), request)


class _GoalOptions(NamedTuple):
    """How a goal without a process is worked towards."""

    may: tuple[str, ...]
    tools: tuple[str, ...]
    check: tuple[str, ...]
    turns: int | None
    within: str | None
    by_hand: bool


def _refuse_mixed(process: str, goal: str, options: _GoalOptions, *, has_inputs: bool) -> None:
    """Refuse what belongs to a goal beside a process, and the other way round."""
    if not (process or goal):
        raise click.UsageError("name a PROCESS, or give a --goal")
    if process and any(options):
        raise click.UsageError(
            "--may, --tool, --check, --turns, --within and --by-hand are for a --goal without a "
            "PROCESS, which says them itself"
        )
    if not process and has_inputs:
        raise click.UsageError("inputs and a version need a PROCESS: write everything into --goal")


def _goal_step(
    session: Session,
    home: Home,
    goal: str,
    workspace: Path,
    options: _GoalOptions,
    breaks: tuple[str, ...],
) -> dict[str, Any]:
    """The step that works towards *goal*; what whoever asked may not expect is noted."""
    catalog = Catalog(session.history)
    step = goal_step(home, catalog, goal, workspace, **options._asdict(), breaks=breaks)
    if step["by_hand"] and not options.by_hand:
        session.screen.note(NO_MODEL, "yellow")
    if not is_in_checkout(workspace):
        session.screen.note(NO_CHECKOUT, "yellow")
    return step


def _refuse_unfit(
    home: Home, linked: Linked | None, values: dict[str, Any], breaks: tuple[str, ...]
) -> None:
    """Refuse inputs and breakpoints that do not fit *linked*, and inputs that hold a secret."""
    refuse_secrets(values, mask_of(home))
    # What implements an interface may take more than it says; an abstract one is refused.
    if isinstance(linked, LinkedProcess) and not linked.abstract:
        refuse_wrong(linked, values)
        refuse_breaks(linked, breaks)


def _trigger_of(request: ExecutionRequest, linked: Linked | None) -> TriggerMatched:
    """That a person who asks is what set it going; recorded with the request."""
    return TriggerMatched(
        trigger_id=request.trigger,
        execution_id=request.execution_id,
        process=request.process,
        digest=linked.digest if linked else "",
        because=f"{OWNER} asked for it on the command line",
    )


def _linked(session: Session, name: str, version: int | None) -> Linked | None:
    """The process or interface of that name; None for work without one."""
    if not name:
        return None
    catalog = Catalog(session.history)
    return catalog.linked(catalog.get(name, version))


def _about(linked: Linked | None) -> str:
    return (linked.description or f"run {linked.name}") if linked else ""
