"""`cortex fork`: a new execution from a recorded point of another."""

import click

from cortex.runtime import sessions
from cortex.runtime.kernel import Home

from ..completing import with_execution
from ..exits import exit_code
from ..options import DOLLARS, at_home, with_running
from ..screen import Screen
from ..terminal import open_session


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
