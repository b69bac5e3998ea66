"""`cortex backup` and `cortex restore`: a copy of a home, and a home from it."""

from pathlib import Path

import click

from cortex.runtime.admin import back_up
from cortex.runtime.admin import restore as restored
from cortex.runtime.kernel import Home, many

from ..options import FOLDER, at_home, home_at, with_screen
from ..screen import Screen


@click.command()
@click.argument("folder", type=FOLDER)
@at_home
def backup(folder: Path, home: Home, screen: Screen) -> None:
    """Copy the home into FOLDER, a new one or an earlier backup.

    It may run while a hub is up: the copy is the log as it is at one moment, with every blob that
    it names, and your own files. Into an earlier backup it copies only new blobs. Every event is
    checked. Keys are left out, and all that Cortex can make again: copy keys/ to another place.
    """
    made = back_up(home, folder)
    screen.document(made)
    blobs = f"{many(made.blobs, 'blob')}, {made.copied:,} of them new"
    screen.line(f"{made.path}: {many(made.events, 'event')}, {blobs}")
    if made.missing:
        lost = many(made.missing, "blob")
        screen.warn(f"{lost} that events name are missing or damaged: `cortex doctor` says which")
    screen.note(f"cortex restore {folder}", "cyan")


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--replace", is_flag=True, help="Move the home that is there aside.")
@click.option(
    "--home",
    type=FOLDER,
    metavar="FOLDER",
    help="Where the home is to be, instead of the place of the one that belongs to this folder.",
)
@with_screen
def restore(folder: Path, replace: bool, home: Path | None, screen: Screen) -> None:
    """Make the home again from the backup in FOLDER.

    Every event and every blob of the backup is checked before anything is replaced. A home that is
    there is moved aside whole, with --replace. Clients that saw events which the backup lacks learn
    of it when they connect.
    """
    made = restored(folder, home_at(home), replace=replace)
    screen.document(made)
    screen.line(f"{made.home}: {many(made.events, 'event')}, {many(made.blobs, 'blob')}")
    if made.replaced:
        screen.note(f"the home that was there is now {made.replaced}")
    if made.missing:
        screen.warn(f"{many(made.missing, 'blob')} were missing when it was backed up")
    if Home(Path(made.home)).untrusted_because:
        screen.note("it is not trusted here, nothing of it runs: `cortex trust --show`", "yellow")
