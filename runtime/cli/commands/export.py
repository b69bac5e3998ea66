"""`cortex export` and `cortex import`: the events of a log in a file, and a log from it."""

import sys
from pathlib import Path

import click

from cortex.runtime.exports import (
    FORMATS,
    NATIVE,
    ExportDocument,
    export_log,
    export_to,
    import_log,
    send_spans,
)
from cortex.runtime.kernel import Home, many

from ..options import FOLDER, at_home, home_at, with_past, with_screen
from ..screen import Screen

STANDARD = "-"
SENT = "otlp"  # the format that a URL takes
FILE_OR_STREAM = click.Path(dir_okay=False, allow_dash=True)
POSITION = click.IntRange(min=1)


@click.command()
@click.argument("file", type=FILE_OR_STREAM, metavar="FILE|-|URL")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default=NATIVE,
    show_default=True,
    help="; ".join(f"{name}: {each.help}" for name, each in FORMATS.items()) + ".",
)
@click.option("--from", "first", type=POSITION, default=1, help="Begin at this position.")
@click.option("--to", "last", type=POSITION, help="End at this position, which is included.")
@at_home
@with_past
def export(file: str, form: str, first: int, last: int | None, home: Home, screen: Screen) -> None:
    """Write the events of the log to FILE, for other tools.

    With - they go to standard output; --format otlp also takes the URL of a collector. Each event
    is one line: decoded, and as the exact record. A hub may be up meanwhile. FILE appears, or is
    replaced, only when all of it is written. Keys, files and waiting work are left out: `cortex
    backup` copies a home that is to go on.
    """
    if file == STANDARD and screen.as_json:
        raise click.UsageError("--json and - both use standard output: name a file")
    if file.startswith(("http://", "https://")):
        if form != SENT:
            raise click.UsageError(f"a URL takes spans alone: give --format {SENT}, or name a file")
        made = send_spans(home, file, first=first, last=last)
        screen.document(made)
        screen.line(f"{file}: {_done(made)}")
    elif file == STANDARD:
        made = export_log(home, sys.stdout.buffer, first=first, last=last, form=form)
        screen.note(_done(made))
    else:
        made = export_to(home, Path(file), first=first, last=last, form=form)
        screen.document(made)
        screen.line(f"{made.path}: {_done(made)}")
    if made.missing:
        lost = many(made.missing, "blob")
        screen.warn(f"{lost} that events name are missing or damaged: `cortex doctor` says which")


@click.command("import")
@click.argument("file", type=FILE_OR_STREAM)
@click.option(
    "--home",
    type=FOLDER,
    metavar="FOLDER",
    help="The home, instead of the one that belongs to this folder; it is made if it is missing.",
)
@with_screen
def import_(file: str, home: Path | None, screen: Screen) -> None:
    """Make a home's log again from the export in FILE.

    With - it is read from standard input. The home must have no events yet. Every line is checked
    before anything is kept; the events are the same, byte for byte, and so is the root of the log's
    tree. Nothing of the home runs until you trust it.
    """
    if file == STANDARD:
        made = import_log(sys.stdin.buffer, home_at(home))
    else:
        with Path(file).open("rb") as source:
            made = import_log(source, home_at(home))
    screen.document(made)
    screen.line(f"{made.home}: {many(made.events, 'event')}, {many(made.blobs, 'blob')}")
    screen.note("it is not trusted here, nothing of it runs: `cortex trust --show`", "yellow")


def _done(made: ExportDocument) -> str:
    events = f"{many(made.events, 'event')}, {made.first:,} to {made.last:,}"
    if made.format == SENT:
        return f"{many(made.spans, 'span')}, of {events}"
    return f"{events}; {many(made.blobs, 'blob')}" if made.blobs else events
