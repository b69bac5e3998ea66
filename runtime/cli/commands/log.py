"""`cortex log`: what moves with the events of a log, and does not fit them."""

import click

from cortex.runtime.kernel import Home, RefusedError
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
from ..options import with_home, with_screen
from ..screen import Screen
from ..tree import Family

BY = "cortex log state"
RESTORE = "cortex log state --restore   (puts back what was there when the log was closed)"
ACCEPT = "cortex log state --accept   (keeps what is there now)"


@click.group(cls=Family)
def log() -> None:
    """Look after what moves with the event log: cursors and work."""


@log.command()
@click.option("--restore", is_flag=True, help="Put back what was there when the log was closed.")
@click.option("--accept", is_flag=True, help="Keep what is there now.")
@with_home
@with_screen
def state(restore: bool, accept: bool, home: Home, screen: Screen) -> int:
    """Show what does not fit the events, or is not what it was; and go on from there.

    The events themselves are covered by hashes. Cursors, waiting work, deadlines and receipts are
    not: a log that is closed keeps a copy of them, and one in which another program changed them
    since is not opened. This shows each row, as it was and as it is. --restore puts all of it back
    as it was, --accept keeps it as it is; either way, what the events determine is as they say: a
    cursor is not before what its component has answered to, a request that nobody answered waits
    again, and nothing points past the end. What was done is recorded as `log.state_mended`.

    While a hub is up, what it goes by is compared with what is on disk; --restore and --accept
    want it down.

    Ends with 4 if something does not fit, and with 0 once it does.
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
        raise RefusedError(f"what was there at the last close is not known: {ACCEPT}")
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
        screen.line("cortex down   (the hub writes what it goes by, and this is gone)", "cyan")
        return
    if document.copied:
        screen.line(RESTORE, "cyan")
    screen.line(ACCEPT, "cyan")
