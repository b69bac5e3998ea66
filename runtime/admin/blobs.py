"""Large payloads of a home, and those of them that nothing names any more."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cortex.bus import named_after, names_in, with_those_within
from cortex.runtime.kernel import Home
from cortex.runtime.log import BlobStore, EventLog, LogMissingError

LOG = "log.db"


class CollectedDocument(msgspec.Struct):
    """What a collection of blobs did, or would do."""

    removed: int
    freed_bytes: int
    named: int  # left alone, however old: something names them
    dry_run: bool


def collect_blobs(home: Home, idle_s: float, *, dry_run: bool) -> CollectedDocument:
    """Remove the blobs of *home* that no event, deadline or index names.

    It may run while a hub is up: a client that uploads a blob names it soon.

    Args:
        home: Has to be trusted, unless nothing is removed.
        idle_s: Only blobs that nobody uploaded or asked for within this time.
        dry_run: Remove nothing.

    Raises:
        LogMissingError: There are such blobs, and no log that would say what is named.
    """
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
            raise
        return CollectedDocument(0, 0, 0, dry_run)
    named |= with_those_within(_named_in_indexes(home), store)
    gone = {digest: size for digest, size in idle.items() if digest not in named}
    if not dry_run:
        gone = {digest: size for digest, size in gone.items() if store.drop(digest, idle_s)}
    kept = sum(digest in named for digest in idle)
    return CollectedDocument(len(gone), sum(gone.values()), kept, dry_run)


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
