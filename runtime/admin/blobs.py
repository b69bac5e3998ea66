"""Large payloads of a home, and those that nothing refers to any more."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cortex.bus import named_after, names_in, with_those_within
from cortex.runtime.kernel import Home
from cortex.runtime.log import BlobError, BlobStore, EventLog, LogMissingError
from cortex.runtime.subjects import PersonalBlobs, PersonalLog, SubjectKeys, blob_subject

LOG = "log.db"
ERASED = "subject/"  # the stream of an erasure, before the id of its subject


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
        idle_s: Only blobs that were not uploaded or read within this time.
        dry_run: Remove nothing.

    Raises:
        LogMissingError: There are such blobs, and no log that would say what is named.
    """
    home.check()
    if not dry_run:
        home.require_trust()  # an untrusted log must not remove anything
    store = BlobStore(home.blobs)
    idle = dict(store.idle(idle_s))  # before the log is read: what is put from now on is not idle
    try:
        with contextlib.closing(EventLog.open(home.log_path, readonly=True)) as log:
            keys = SubjectKeys.of_home(home.path)  # names are in what they decrypt
            readable = PersonalBlobs(store, keys)
            named = named_after(PersonalLog(log, keys), 0, readable)
            locked = {digest for digest in idle if _is_locked(digest, store, keys, log)}
    except LogMissingError:
        if idle:
            raise
        return CollectedDocument(0, 0, 0, dry_run)
    named |= with_those_within(_named_in_indexes(home), readable)
    gone = {digest: size for digest, size in idle.items() if digest not in named | locked}
    if not dry_run:
        gone = {digest: size for digest, size in gone.items() if store.drop(digest, idle_s)}
    kept = sum(digest in named for digest in idle)
    return CollectedDocument(len(gone), sum(gone.values()), kept, dry_run)


def _is_locked(digest: str, store: BlobStore, keys: SubjectKeys, log: EventLog) -> bool:
    """Whether a blob is encrypted, and its key may come back: its names are not known now."""
    try:
        whose = blob_subject(store.get(digest))
    except BlobError:
        return False
    return whose is not None and keys.get(whose) is None and not log.stream_version(ERASED + whose)


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
    # Here, not at the top: it takes a tenth of a second to load, which no other command should pay.
    from sqlite_utils import Database

    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        for table in Database(db, recursive_triggers=False, execute_plugins=False).tables:
            if table.virtual_table_using is None:  # what one holds is in tables beside it
                for row in table.rows:
                    yield from (value for value in row.values() if isinstance(value, str | bytes))
