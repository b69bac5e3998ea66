"""`cortex context`: how full the context of an execution is."""

import click

from cortex.runtime.kernel import Home

from ..completing import execution_ids
from ..errors import NotFoundError
from ..options import with_home, with_screen
from ..prompting import Health, health_of, newest_prompts
from ..reading import History
from ..screen import Screen
from ..tree import Family

BAR = 30  # columns


@click.group(cls=Family)
def context() -> None:
    """Look at the context of an execution."""


@context.command()
@click.argument("execution_id", metavar="[EXECUTION]", default="", shell_complete=execution_ids)
@with_home
@with_screen
def health(execution_id: str, home: Home, screen: Screen) -> None:
    """Show how full the context of an execution is, as its newest prompt has it.

    Without EXECUTION it is the one that compiled a prompt last; it may be running.
    """
    with History.open(home) as history:
        known = history.execution_id(execution_id) if execution_id else ""
        prompts = list(newest_prompts(history, known))
        if not prompts:
            asked = known or "the newest"
            raise NotFoundError("context", asked, "is not there: no step asked a model yet")
        newest = prompts[0].event.execution_id
        found = health_of(history, [p for p in prompts if p.event.execution_id == newest])
    screen.document(found)
    _show(screen, found)


def _show(screen: Screen, found: Health) -> None:
    screen.line(f"execution {found.execution}  step {found.step}  turn {found.turn}", "bold")
    screen.line(f"{_bar(found.utilisation)}  {found.utilisation:.0%} of V_e = {found.window:,}")
    for each in found.sections:
        if each.tokens:
            share = each.tokens / max(each.budget, 1)
            screen.line(
                f"  {each.section:<13} {each.tokens:>7,} of {each.budget:>7,}  {share:>4.0%}"
            )
    screen.line(f"  {'headroom':<13} {found.headroom:>7,}")
    stretches = ", ".join(f"{name} {tokens:,}" for name, tokens in found.stretches.items())
    screen.line(f"  {found.strategy}: {stretches}; {found.eligible:,} cacheable")
    screen.line(f"  {found.epochs} epochs; tokens by turn: {', '.join(map(str, found.turns))}")
    for warning in found.warnings:
        screen.line(f"  {warning}", "yellow")
    for action in found.actions:
        screen.paragraph(action, lead="  - ")


def _bar(share: float) -> str:
    full = round(min(max(share, 0.0), 1.0) * BAR)
    return f"[{'#' * full}{'.' * (BAR - full)}]"
