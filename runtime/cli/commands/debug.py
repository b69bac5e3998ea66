"""`cortex debug`: where an execution stands, and what would be sent next."""

import click

from cortex.runtime.executions.view import History, debug_of
from cortex.runtime.kernel import Home

from ..completing import with_any_execution
from ..options import at_home, with_past
from ..screen import Screen
from ..terminal import show_debug


@click.command()
@with_any_execution
@click.option("--full", is_flag=True, help="Show prompts, evidence and left-out items as a whole.")
@at_home
@with_past
def debug(execution_id: str, full: bool, home: Home, screen: Screen) -> None:
    """Show where an execution stands, and what would be sent next.

    At a breakpoint: what was done so far, what the gates said, and the prompt that is sent when it
    continues, with its messages and their parts, the tokens of each section, and what was left out.
    EXECUTION is an id, or its beginning, if that is unique; without it, the newest one. If it waits
    for a child execution, that is shown.
    """
    with History.open(home) as history:
        newest = history.newest_execution_id
        found = history.execution_id(execution_id) if execution_id else newest()
        document = debug_of(history, found)
    screen.document(document)
    if not screen.as_json:
        show_debug(screen, document, full=full, hints=home.as_of is None)
