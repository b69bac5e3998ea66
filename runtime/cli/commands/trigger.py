"""`cortex trigger`: report an outside event, which can start a process."""

from pathlib import Path

import click

from cortex.bus.events import TriggerReceived
from cortex.runtime.kernel import Home
from cortex.runtime.sessions import mask_of, pairs_of, refuse_secrets, scalar

from ..exits import OK, exit_code
from ..options import at_any_home, with_running, with_subject, with_workspace
from ..screen import Screen
from ..terminal import open_session


@click.command()
@click.argument("fields", nargs=-1, required=True, metavar="FIELD=VALUE...")
@click.option("-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="An input.")
@click.option("--goal", default="", help="What the work is for.")
@with_workspace
@click.option(
    "--version",
    type=click.IntRange(min=1),
    help="The version to run; needed if the newest source was rejected.",
)
@click.option(
    "--no-wait", is_flag=True, help="Record the event and end; the next runtime does the work."
)
@with_subject
@with_running
@at_any_home
def trigger(
    fields: tuple[str, ...],
    inputs: tuple[str, ...],
    goal: str,
    workspace: Path,
    version: int | None,
    no_wait: bool,
    subject: str,
    yes: bool,
    quiet: bool,
    home: Home,
    screen: Screen,
) -> int:
    """Report an event, and run the process that answers it.

    It runs the process whose trigger fits best, in its newest version. If the newest source of a
    fitting process was rejected, nothing runs unless --version names an earlier valid version.

    \b
    cortex trigger source=ci status=failure -i log=build.log
    """  # noqa: D301  # backslash-b keeps lines apart, for click
    happened = {name: scalar(value) for name, value in pairs_of(fields, "FIELD").items()}
    given = pairs_of(inputs, "NAME")
    values = {name: scalar(value) for name, value in given.items()}
    with open_session(home, screen, quiet=quiet, approve=yes) as session:
        refuse_secrets(values, mask_of(home))
        session.submitter.for_trigger(happened, version)
        event = TriggerReceived(
            trigger_id=session.client.new_id(),
            fields=happened,
            inputs=values,
            goal=goal,
            workspace=str(workspace.absolute()),
            subject=subject,
            waits=False,  # the user sees the failure at once, and can repeat the command
        )
        matched, position = session.match(event)
        screen.note(f"trigger matched {matched.process}: {matched.because}")
        if not no_wait:
            return exit_code(session.follow(matched.execution_id, position))
        screen.document(session.document(matched.execution_id))
        screen.line(f"execution {matched.execution_id} was requested", "bold")
        screen.line(f"cortex execution resume {matched.execution_id}", "cyan")
        return OK
