"""`cortex audit erase` and `cortex audit subjects`: personal data, and how it is forgotten."""

import click

from cortex.runtime import erasure
from cortex.runtime.kernel import Home, many

from ..options import at_home
from ..screen import Screen

LINES = 10  # places that are shown to people


@click.command()
@click.argument("subject")
@click.option("--why", default="", metavar="TEXT", help="For the record; must not name SUBJECT.")
@click.option(
    "--find",
    "texts",
    multiple=True,
    metavar="TEXT",
    help="Look for this text, too, among what is not encrypted.",
)
@click.option("--dry-run", is_flag=True, help="Change nothing, and show what there is.")
@at_home
def erase(
    subject: str, why: str, texts: tuple[str, ...], dry_run: bool, home: Home, screen: Screen
) -> None:
    """Make what is recorded of SUBJECT unreadable for ever.

    Destroys the key of SUBJECT, and removes what was derived from the log: read models, snapshots,
    indexes, logs of programs. They are made again without it. The events stay, with placeholders;
    every signed head and proof still verifies. `subject.erased` records who asked and why.

    What was recorded unencrypted before is listed, and stays. No hub may be up. If it is killed,
    run it again. Keys in a backup of keys/ are not touched: remove them there.
    """

    def tell(found: erasure.Erased) -> None:
        screen.document(found)
        _show(found, screen)

    if dry_run:
        tell(erasure.looked_up(home, subject, texts))
    elif not why:
        raise click.UsageError("say --why: it is recorded with the erasure (or use --dry-run)")
    else:
        erasure.erase(home, subject, why, texts, tell)


@click.command()
@at_home
def subjects(home: Home, screen: Screen) -> None:
    """List the subjects whose personal data is encrypted with a key of their own."""
    rows = erasure.subjects_of(home)
    screen.rows(
        rows,
        {
            "subject": lambda row: row.name,
            "id": lambda row: row.subject,
            "since": lambda row: row.since,
        },
    )


def _show(found: erasure.Erased, screen: Screen) -> None:
    would = "would be " if found.dry_run else ""
    if found.finished:
        screen.line("an erasure that had begun is finished", "bold")
    executions = f" in {many(len(found.executions), 'execution')}" if found.executions else ""
    screen.line(
        f"{many(found.events, 'event')}{executions} and {many(found.blobs, 'blob')} {would}erased"
    )
    for path in found.removed:
        screen.line(f"  {would}removed: {path}", "dim")
    _show_left(found, screen)


def _show_left(found: erasure.Erased, screen: Screen) -> None:
    """What an erasure does not change."""
    for unread in found.unread:
        screen.line(f"not looked into, because it cannot be read: {unread}", "yellow")
    if found.finished:
        return
    sought = "the name or a text to find"
    if not found.unencrypted:
        screen.line(f"nothing unencrypted in this home has {sought}")
        return
    places = many(found.unencrypted, "place")
    screen.line(f"not encrypted, so it stays: {sought}, in {places}:", "yellow")
    for place in found.places[:LINES]:
        screen.line(f"  {place.what} {place.where} {place.about}".rstrip())
    if found.unencrypted > LINES:
        listed = f"--json lists {len(found.places):,} of them"
        screen.line(f"  and {found.unencrypted - LINES:,} more: {listed}")
