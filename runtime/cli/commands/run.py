"""`cortex run` and `cortex fork`: start an execution, anew or from a recorded point of another."""

from pathlib import Path
from typing import Any

import click

from cortex.runtime import sessions
from cortex.runtime.kernel import Home
from cortex.runtime.sessions import GoalOptions, RunOptions, pairs_of, start

from ..completing import process_names_or_files, with_execution, with_inputs
from ..exits import exit_code
from ..options import (
    DOLLARS,
    FILE,
    at_any_home,
    at_home,
    with_options,
    with_running,
    with_subject,
    with_version,
    with_workspace,
)
from ..screen import Screen
from ..terminal import open_session

with_goal_options = with_options(
    click.option(
        "--may",
        multiple=True,
        metavar="ACTION",
        help="With --goal: a further action that may be chosen, or process:NAME; ACTION={...} sets "
        "parameters, ACTION=any lets a model also choose the programs that it starts "
        "[default: run_tests; by hand, all actions].",
    ),
    click.option(
        "--tool",
        "tools",
        multiple=True,
        metavar="NAME",
        help="With --goal: a further tool or pack; files and knowledge are offered anyway.",
    ),
    click.option(
        "--check",
        multiple=True,
        metavar="PROGRAM|GATE",
        help="What decides that the goal is reached: a program that ends with 0, a gate, or "
        "GATE={...} with its parameters [default: you are asked].",
    ),
    click.option(
        "--turns",
        type=click.IntRange(min=1),
        help="With --goal: how often the model is asked [default: 30].",
    ),
    click.option(
        "--within",
        metavar="TIME",
        help="With --goal: how long the work may take, as in 90s or 2h [default: 30m].",
    ),
)


@click.command()
@click.argument("process", required=False, default="", shell_complete=process_names_or_files)
@with_inputs
@click.option(
    "--input-file",
    type=FILE,
    help="Inputs as a map in a file, JSON or TOML.",
)
@click.option("--goal", default="", help="What the work is for [default: the goal in PROCESS].")
@with_workspace
@click.option("--break", "breaks", multiple=True, metavar="STEP", help="Pause before this step.")
@with_version
@click.option(
    "--max-cost",
    type=DOLLARS,
    metavar="USD",
    help="US dollars that its models may cost "
    "[default: `max_cost` in [models]; with --goal 1 if that is not set].",
)
@with_goal_options
@with_subject
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
@at_any_home
def run(
    process: str,
    inputs: tuple[str, ...],
    input_file: Path | None,
    may: tuple[str, ...],
    tools: tuple[str, ...],
    check: tuple[str, ...],
    turns: int | None,
    within: str | None,
    by_hand: bool,
    yes: bool,
    quiet: bool,
    home: Home,
    screen: Screen,
    **asked: Any,
) -> int:
    """Run a process, or work towards a goal without one.

    PROCESS is its name, an interface that it implements, or a file. With --goal and without
    PROCESS, a model chooses allowed actions turn by turn, until the check passes. Each action is a
    recorded step of the execution, so that you can make a process of them. Files change in a
    worktree. If no model is configured, you choose: `cortex execution do`. Progress goes to
    standard error, the result to standard output. Ctrl-C pauses the execution. If you answer in a
    model's place, type the answer and end it with Ctrl-D.
    """
    towards = GoalOptions(may, tools, check, turns, within, by_hand)
    options = RunOptions(towards=towards, **asked)
    given = pairs_of(inputs, "NAME")
    _refuse_mixed(process, options, has_inputs=bool(given or input_file or options.version))
    with open_session(home, screen, quiet=quiet, approve=yes) as session:
        return exit_code(start(session, process, given, options, input_file))


def _refuse_mixed(process: str, options: RunOptions, *, has_inputs: bool) -> None:
    """Refuse what belongs to a goal beside a process, and the other way round."""
    if not (process or options.goal):
        raise click.UsageError("name a PROCESS, or give a --goal")
    if process and options.towards != GoalOptions():
        raise click.UsageError(
            "--may, --tool, --check, --turns, --within and --by-hand are for a --goal without a "
            "PROCESS, which says them itself"
        )
    if not process and has_inputs:
        raise click.UsageError("inputs and a version need a PROCESS: write everything into --goal")


@click.command()
@with_execution
@click.option(
    "--from", "from_step", required=True, metavar="STEP", help="The first step that it runs."
)
@click.option("--break", "breaks", multiple=True, metavar="STEP", help="Pause before this step.")
@click.option(
    "--max-cost",
    type=DOLLARS,
    metavar="USD",
    help="US dollars that its models may cost [default: as for EXECUTION].",
)
@click.option("--again", is_flag=True, help="Do calls again that are on record.")
@with_running
@at_home
def fork(
    execution_id: str,
    from_step: str,
    breaks: tuple[str, ...],
    max_cost: float | None,
    again: bool,
    yes: bool,
    quiet: bool,
    home: Home,
    screen: Screen,
) -> int:
    """Start a new execution from a recorded point of another.

    It runs the same version of the process with the same inputs. The steps before STEP take their
    outcomes from EXECUTION and are not run; STEP and all later ones run. EXECUTION does not change.

    A call of an action or a tool that succeeded in EXECUTION with the same parameters takes its
    recorded result: nothing happens a second time. Before each effect that is not on record, the
    fork pauses and asks: `cortex execution resume ID --approve`.

    With --again, the fork does everything itself, and asks before each step that may have an
    effect outside.
    """
    with open_session(home, screen, quiet=quiet, approve=yes) as session:
        ending = sessions.fork(
            session, execution_id, from_step, breaks=breaks, max_cost=max_cost, again=again
        )
        return exit_code(ending)
