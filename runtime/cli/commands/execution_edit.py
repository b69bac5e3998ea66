"""`cortex execution edit`: other text in the prompt that a breakpoint shows."""

from typing import IO

import click

from cortex.runtime.context import EditUnfitError
from cortex.runtime.executions import Execution, edit_prompt
from cortex.runtime.executions.view import History, waiting_child
from cortex.runtime.kernel import Home, RefusedError, many
from cortex.runtime.processes import SettlementError

from .. import running  # not its names: what only reads gets along without a runtime
from ..completing import execution_ids
from ..exits import OK, WAITING
from ..options import with_home, with_screen
from ..screen import Screen

SHOWN_ITEMS = 5  # that are named


@click.command()
@click.argument("execution_id", metavar="EXECUTION", shell_complete=execution_ids)
@click.option(
    "--file",
    "whole",
    type=click.File(encoding="utf-8"),
    help="The whole new prompt; - reads standard input.",
)
@click.option(
    "--replace",
    "pairs",
    type=(str, str),
    multiple=True,
    metavar="OLD NEW",
    help="Replace OLD, which must occur once, by NEW.",
)
@click.option("--note", default="", help="Why, for the record.")
@with_home
@with_screen
def edit(
    execution_id: str,
    whole: IO[str] | None,
    pairs: tuple[tuple[str, str], ...],
    note: str,
    home: Home,
    screen: Screen,
) -> int:
    """Change the prompt that a breakpoint shows.

    `resume` then sends it. Without --file and --replace, the command opens it in your editor.
    Cortex records your change with your name, compiles the prompt again with it, and shows it
    again. You cannot change headings, the lines that open and close a quotation, tools and masked
    secrets. Later prompts of the step have the change, too.
    """
    if whole and pairs:
        raise click.UsageError("give --file or --replace, not both")
    with running.Session.open(home, screen) as session:
        found = session.known(execution_id)
        state = _standing(session.history, found)
        if state.over:
            raise RefusedError(f"execution {found} is {state.status}: it sends no more prompts")
        try:
            text = _edited(state, _shown(session.history, state), whole, pairs)
            event = edit_prompt(session.history.blobs, state, text, seen=session.seen, note=note)
        except (EditUnfitError, SettlementError) as error:
            raise RefusedError(str(error)) from None
        mask = running.mask_of(home)
        if any(mask.text(each["new"]) != each["new"] for each in event.edits):
            raise RefusedError("the new text holds a secret, which is neither recorded nor sent")
        code = session.edit(event.execution_id, event)
    return OK if code == WAITING else code


def _standing(history: History, execution_id: str) -> Execution:
    """The execution, that or the child that it waits for, which stands at a breakpoint.

    Raises:
        RefusedError: Several items of it stand.
    """
    state = history.execution(execution_id)
    while inner := waiting_child(state):
        state = history.execution(inner)
    if state.fan is not None:
        standing = [child for child, live in state.fan.live.items() if live.stands]
        shown = ", ".join(standing[:SHOWN_ITEMS])
        if standing:
            raise RefusedError(
                f"{len(standing)} items of {state.step_id} wait, each with its own prompt: "
                f"edit that of one of them ({shown}{', ...' * (len(standing) > SHOWN_ITEMS)})"
            )
    return state


def _shown(history: History, state: Execution) -> str:
    compiled = state.compiled
    return history.blobs.get(compiled.prompt).decode() if compiled is not None else ""


def _edited(
    state: Execution, before: str, whole: IO[str] | None, pairs: tuple[tuple[str, str], ...]
) -> str:
    """The prompt as it is to be.

    Raises:
        click.UsageError: Nobody says so.
        EditUnfitError: A text that is to be replaced does not stand there once.
    """
    if whole is not None:
        try:
            return whole.read()
        except ValueError:
            raise click.UsageError(f"{whole.name} is not UTF-8") from None
    for old, new in pairs:
        times = before.count(old) if old else 0
        if times != 1:
            more = f"occurs {many(times, 'time')}: give more of the text around it"
            there = more if times else "does not occur"
            raise EditUnfitError("the prompt", f"{old[:60]!r} {there}")
        before = before.replace(old, new)
    if pairs or not before:
        return before
    if not running.has_person():
        raise click.UsageError("say what to change: --replace OLD NEW, or --file FILE")
    edited = click.edit(before, extension=".txt")
    if edited is None:
        raise RefusedError(f"execution {state.execution_id} is not changed: nothing was saved")
    return edited
