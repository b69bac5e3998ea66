"""`cortex context`: how full the context of an execution is."""

import click

from cortex.runtime.admin import FollowedContext
from cortex.runtime.context.prompt_log import health_lines, health_of, prompts_of_one
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, NotFoundError

from ..completing import with_any_execution
from ..options import at_home, with_past
from ..screen import Screen
from ..terminal import health_pictures
from ..tree import Family


@click.group(cls=Family)
def context() -> None:
    """Show the context of an execution."""


@context.command()
@with_any_execution
@click.option(
    "-f",
    "--follow",
    is_flag=True,
    help="Show each new prompt, until the execution ends or you press Ctrl-C.",
)
@at_home
@with_past
def health(execution_id: str, follow: bool, home: Home, screen: Screen) -> None:
    """Show how full the context of an execution is, by its newest prompt.

    Without EXECUTION, it is the execution that compiled a prompt last; it may be running. With -f
    and --json, each line is a JSON document.
    """
    if follow and home.as_of is not None:
        raise click.UsageError("--follow shows new events, --at an earlier state: use only one")
    if follow:
        _follow(home, execution_id, screen)
        return
    with History.open(home) as history:
        known = history.execution_id(execution_id) if execution_id else ""
        prompts = prompts_of_one(history, known)
        if not prompts:
            asked = known or "the newest"
            raise NotFoundError("context", asked, "is not there: no step asked a model yet")
        found = health_of(history, prompts)
    screen.document(found)
    for line in health_lines(found):
        screen.line(line.text, line.style)


def _follow(home: Home, asked: str, screen: Screen) -> None:
    followed = FollowedContext(home, asked)
    try:
        with health_pictures(screen) as show:
            for found in followed.prompts():
                if found is None:
                    screen.note("no prompt yet; Ctrl-C ends this")
                    continue
                screen.record(found)
                show(found)
    except KeyboardInterrupt:
        screen.note("no longer followed; the execution continues")
    else:
        screen.note(f"the execution is {followed.status}")
