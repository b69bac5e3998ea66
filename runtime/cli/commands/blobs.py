"""`cortex blobs`: large payloads, and those of them that nothing names."""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from cortex.bus import named_after, names_in, with_those_within
from cortex.runtime.kernel import Home, many, parse_time
from cortex.runtime.log import BlobStore, EventLog, LogMissingError

from ..options import with_home, with_screen
from ..screen import Screen
from ..tree import Family

OLDER = "1d"
LOG = "log.db"


class CollectedDocument(msgspec.Struct):
    """What a collection of blobs did, or would do."""

    removed: int
    freed_bytes: int
    named: int  # left alone, however old: something names them
    dry_run: bool


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
@with_home
@with_screen
def gc(older: str, dry_run: bool, home: Home, screen: Screen) -> None:
    """Remove blobs that no event, deadline or index names.

    It may run while a hub is up. A client that uploads a blob names it soon, so a blob that is
    older than AGE and that nothing names is not needed any more.
    """
    now_ns = time.time_ns()
    idle_s = max(0.0, (now_ns - parse_time(older, now_ns)) / 1e9)
    home.check()
    if not dry_run:
        home.require_trust()  # what a log says that nobody looked at removes nothing
    store = BlobStore(home.blobs)
    idle = dict(store.idle(idle_s))  # before the log is read: what is put from now on is not idle
    try:
        with contextlib.closing(EventLog.open(home.log_path, readonly=True)) as log:
            named = named_after(log, 0, store)
    except LogMissingError:
        if idle:
            raise  # it is the log that would say which of them are named
        screen.document(CollectedDocument(0, 0, 0, dry_run))
        screen.line("there is nothing to remove: nothing was recorded yet")
        return
    named |= with_those_within(_named_in_indexes(home), store)
    gone = {digest: size for digest, size in idle.items() if digest not in named}
    if not dry_run:
        gone = {digest: size for digest, size in gone.items() if store.drop(digest, idle_s)}
    kept = sum(digest in named for digest in idle)
    screen.document(CollectedDocument(len(gone), sum(gone.values()), kept, dry_run))
    verb = "would remove" if dry_run else "removed"
    screen.line(f"{verb} {many(len(gone), 'blob')}, {many(sum(gone.values()), 'byte')}")


def _named_in_indexes(home: Home) -> set[str]:
    """What the home's read models name; they may be older than what they were made of."""
    named: set[str] = set()
    for path in sorted(home.path.rglob("*.db")):
        if path.name == LOG:
            continue
        with contextlib.suppress(sqlite3.Error):  # one that is damaged is made anew
            for value in _values(path):
                data = value.encode(errors="replace") if isinstance(value, str) else value
                named |= names_in(data)
    return named


def _values(path: Path) -> Iterator[str | bytes]:
    """Every text and every blob in a database."""
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        made = "select name from sqlite_master where type = 'table' and sql not like '%virtual%'"
        for (table,) in db.execute(made).fetchall():
            quoted = '"' + table.replace('"', '""') + '"'
            for row in db.execute(f"select * from {quoted}"):  # noqa: S608  # a table that is there
                yield from (value for value in row if isinstance(value, str | bytes))
