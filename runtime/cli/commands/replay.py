"""`cortex replay`: decide again what the log records, without effects, and compare."""

from pathlib import Path

import click

from cortex.runtime.kernel import Home
from cortex.runtime.replay import replayed, report_of

from ..completing import with_any_execution
from ..exits import FAILED, OK
from ..options import FILE, at_home, with_past
from ..screen import Screen


@click.command()
@with_any_execution
@click.option(
    "--process",
    type=FILE,
    metavar="FILE",
    help="Run the recorded facts of EXECUTION through the version of its process in FILE.",
)
@at_home
@with_past
def replay(execution_id: str, process: Path | None, home: Home, screen: Screen) -> int:
    """Decide again what was decided in an execution, and compare.

    EXECUTION is an id, or its beginning, if that is unique; executions that it called are replayed
    with it. Without it, replay the whole log, and fold every projection again.

    No model is asked and nothing happens in the world: answers and results come from the log. The
    first decision that differs is shown with what led to it.

    With --process FILE it shows what would have gone differently with another version of the
    process: the first event that differs, and what that version asks and nobody answered.
    """
    if process is not None and not execution_id:
        raise click.UsageError("--process needs an EXECUTION: the one to replay with FILE")
    found = replayed(home, execution_id, process)
    screen.document(found)
    for line in report_of(found):
        screen.line(*line)
    return OK if found.same else FAILED
