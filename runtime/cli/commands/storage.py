"""`cortex log` and `cortex blobs`: what a home stores beside its events, and what does not fit."""

import time

import click

from cortex.runtime.admin import collect_blobs
from cortex.runtime.kernel import Home, RefusedError, many, parse_time
from cortex.runtime.log import How, LogHeldError, StateReport, examine, mend, summary
from cortex.runtime.serving import (
    HomeHeldError,
    MendedDocument,
    StateDocument,
    granting,
    mended_document,
    state_document,
)
from cortex.runtime.serving.doctor import live_differences

from ..exits import OK, UNUSABLE
from ..options import at_home
from ..screen import Screen
from ..tree import Family

OLDER = "1d"
BY = "cortex log state"
RESTORE = "cortex log state --restore   (restores the state in which the log was closed)"
ACCEPT = "cortex log state --accept   (keeps what is there now)"


@click.group(cls=Family)
def log() -> None:
    """Check the state beside the event log: cursors and work."""


@log.command()
@click.option("--restore", is_flag=True, help="Restore the state in which the log was closed.")
@click.option("--accept", is_flag=True, help="Keep the present state.")
@at_home
def state(restore: bool, accept: bool, home: Home, screen: Screen) -> int:
    """Show state that was changed or does not fit, and repair it.

    Hashes protect the events themselves. They do not protect cursors, waiting work, deadlines and
    receipts: a closed log keeps a copy of them, and if another program has changed them since,
    Cortex does not open the log. This command shows each changed row, before and after. --restore
    restores all rows, --accept keeps them as they are now. In both cases the events decide what
    they determine: a cursor is not before events that its component has answered, a request that
    nobody answered waits again, and nothing points past the end. Cortex records the repair as
    `log.state_mended`.

    While a hub is up, the command compares the hub's state with the disk; for --restore and
    --accept, end the hub first.

    Ends with 4 if something does not fit, otherwise with 0.
    """
    if restore and accept:
        raise click.UsageError("--restore and --accept exclude each other")
    home.check()
    if not home.log_path.exists():
        screen.document(StateDocument(fits=True))
        screen.line("nothing was recorded yet")
        return OK
    report = examine(home.log_path)
    if restore or accept:
        return _mend(home, report, "restored" if restore else "accepted", screen)
    live = live_differences(home)
    document = state_document(report, live)
    screen.document(document)
    _show(screen, document)
    return OK if document.fits else UNUSABLE


def _mend(home: Home, report: StateReport, how: How, screen: Screen) -> int:
    home.require_trust()
    if report.fits:
        screen.document(MendedDocument(how="", done=""))
        screen.line("everything fits: nothing was changed")
        return OK
    if how == "restored" and not report.copied:
        raise RefusedError(f"the state at the last close is not known: {ACCEPT}")
    try:
        done = mend(home.log_path, how, BY)
    except LogHeldError as error:
        raise HomeHeldError(str(home.path), error.pid, error.held_for) from None
    with granting(home):
        pass  # its hub records what was done
    document = mended_document(done)
    screen.document(document)
    for line in document.mended:
        screen.line(line)
    screen.line(f"{how}: {summary(list(done.differences)) or 'no row had to be changed'}", "bold")
    return OK


def _show(screen: Screen, document: StateDocument) -> None:
    for line in document.lines:
        screen.line(line)
    if document.fits:
        screen.line(document.summary)
        return
    screen.line(document.summary, "bold red")
    if document.up:
        screen.line("cortex down   (the hub writes back its own state)", "cyan")
        return
    if document.copied:
        screen.line(RESTORE, "cyan")
    screen.line(ACCEPT, "cyan")


@click.group(cls=Family)
def blobs() -> None:
    """Manage blobs: remove those that nothing names."""


@blobs.command()
@click.option(
    "--older",
    default=OLDER,
    show_default=True,
    metavar="AGE",
    help="Only blobs that nobody uploaded or asked for within this time: 90s, 12h, 7d.",
)
@click.option("--dry-run", is_flag=True, help="Remove nothing; show what would be removed.")
@at_home
def gc(older: str, dry_run: bool, home: Home, screen: Screen) -> None:
    """Remove blobs that no event, deadline or index names.

    It may run while a hub is up. A client that uploads a blob names it soon, so a blob that is
    older than AGE and that nothing names is not needed any more.
    """
    now_ns = time.time_ns()
    idle_s = max(0.0, (now_ns - parse_time(older, now_ns)) / 1e9)
    found = collect_blobs(home, idle_s, dry_run=dry_run)
    screen.document(found)
    if not home.log_path.exists():
        screen.line("there is nothing to remove: nothing was recorded yet")
        return
    verb = "would remove" if dry_run else "removed"
    screen.line(f"{verb} {many(found.removed, 'blob')}, {many(found.freed_bytes, 'byte')}")
