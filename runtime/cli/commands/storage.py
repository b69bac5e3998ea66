"""`cortex log` and `cortex blobs`: the state, archive and blobs of a home."""

import time

import click

from cortex.bus.events import LogAnswer
from cortex.runtime.admin import (
    ACCEPT,
    RESTORE,
    collect_blobs,
    log_state,
    mend_log,
    seal_log,
    segment_rows,
)
from cortex.runtime.kernel import Home, many, parse_time
from cortex.runtime.log import How
from cortex.runtime.serving import StateDocument

from ..exits import OK, UNUSABLE
from ..options import at_home, with_past
from ..screen import Columns, Screen
from ..tree import Family

OLDER = "1d"
BY = "cortex log state"
SEGMENTS: Columns = {
    "first": "first",
    "last": "last",
    "sealed": "sealed",
    "by": "by",
    "bytes": lambda row: f"{row.record_bytes:,}",
    "compressed": lambda row: f"{row.file_bytes:,}",
    "state": "state",
}


@click.group(cls=Family)
def log() -> None:
    """Check the state beside the event log, and archive its records.

    The state is cursors and waiting work. The archive has the oldest records, compressed.
    """


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
    if restore or accept:
        return _mend(home, "restored" if restore else "accepted", screen)
    document = log_state(home)
    screen.document(document)
    _show(screen, document)
    return OK if document.fits else UNUSABLE


def _mend(home: Home, how: How, screen: Screen) -> int:
    done = mend_log(home, how, BY)
    screen.document(done)
    screen.lines(done.mended)
    if done.how:
        screen.line(f"{how}: {done.done or 'no row had to be changed'}", "bold")
    else:
        screen.line("everything fits: nothing was changed")
    return OK


def _show(screen: Screen, document: StateDocument) -> None:
    screen.lines(document.lines)
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


@log.command()
@click.option(
    "--older", metavar="AGE", help="Only records that are older than this: 90s, 12h, 30d."
)
@click.option(
    "--through", type=click.IntRange(min=1), metavar="POSITION", help="Only up to this position."
)
@click.option("--dry-run", is_flag=True, help="Seal nothing; show what would be sealed.")
@at_home
def seal(older: str | None, through: int | None, dry_run: bool, home: Home, screen: Screen) -> None:
    """Compress the oldest records of the log into its archive.

    They leave log.db, and are read from the archive from then on: every command, check, replay and
    proof works as before. Cortex seals in tiles of 256 records, and leaves the newest record in
    log.db. Each segment is recorded as `log.segment_sealed`. A running hub does this by itself, as
    [archive] in config.toml says; with this command you need not wait for it. It may run while a
    hub is up. A kill at any point loses nothing, and the next sealing continues.
    """
    before_ns = parse_time(older, time.time_ns()) if older is not None else None
    done = seal_log(
        home,
        before_ns=before_ns,
        through=through,
        dry_run=dry_run,
        told=lambda answer: screen.note(_sealed(answer)),
    )
    screen.document(done)
    if not done.events:
        screen.line(
            f"nothing to seal: the archive ends at position {done.through:,}, and no whole tile of "
            "256 later events may be sealed"
        )
        return
    if dry_run:
        screen.line(f"would seal {many(done.events, 'event')}, after position {done.through:,}")
        return
    ratio = f"{many(done.record_bytes, 'byte')} in {many(done.file_bytes, 'byte')}"
    screen.line(f"sealed {many(done.events, 'event')} up to position {done.through:,}, {ratio}")


def _sealed(answer: LogAnswer) -> str:
    return f"{answer.first:,} to {answer.last:,}: {many(answer.file_bytes, 'byte')}"


@log.command()
@at_home
@with_past
def segments(home: Home, screen: Screen) -> int:
    """Show the sealed segments of the log, and whether their files are there.

    Only their sizes are compared here; `cortex audit verify` reads every byte.

    Ends with 4 if a file is missing or has another size, otherwise with 0.
    """
    rows = segment_rows(home)
    screen.rows(rows, SEGMENTS)
    return UNUSABLE if any(row.state in {"missing", "damaged"} for row in rows) else OK


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
