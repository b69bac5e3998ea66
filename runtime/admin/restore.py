"""Restores a home from a backup: everything is checked before anything is replaced."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from cortex.runtime.audit import refuse_loss
from cortex.runtime.kernel import Home, RefusedError
from cortex.runtime.log import (
    ARCHIVE,
    BlobMissingError,
    BlobStore,
    LogHeldError,
    OwnerLock,
    sync,
)
from cortex.runtime.projections import HomeLog
from cortex.runtime.serving import HomeHeldError
from cortex.runtime.serving.doctor import blobs_named

from .backup import BLOBS, LOG, OLD, OTHERS, PRIVATE, manifest_of, opened

KEYS = "keys"
KEPT = "restore it elsewhere with --home FOLDER, or move that home away yourself"


class RestoreDocument(msgspec.Struct):
    """What was restored."""

    home: str
    events: int  # of the log
    blobs: int
    missing: int  # blobs that were missing in the home when it was backed up
    replaced: str  # where the home is now that stood there; "" if there was none


def restore(backup: Path, home: Home, *, replace: bool = False) -> RestoreDocument:
    """Make *home* from the backup in the folder *backup*, after every event and blob was checked.

    A home that stands there is moved aside whole, and its keys are copied into the new one if both
    have the same log.

    Raises:
        RefusedError: It is no backup, a blob of it is missing, a home is there and *replace* is
            not given, or that home still has to keep records which the backup lacks.
        HomeHeldError: Another process has the home that is to be replaced.
        LogError: The log in the backup is damaged.
        BlobError: A blob in it is damaged.
        OSError: A file cannot be read or written.
    """
    manifest = manifest_of(backup)
    if not (backup / LOG).is_file():
        raise RefusedError(f"{backup} has lost its {LOG}: restore from another backup")
    events = _check_log(backup / LOG)
    blobs = _check_blobs(backup, frozenset(manifest.missing))
    there = home.path.exists() and bool([*home.path.iterdir()])
    if there and not replace:
        raise RefusedError(
            f"{home.path} is there already: --replace moves it aside, --home FOLDER restores "
            "elsewhere"
        )
    made = home.path.with_name(f"{home.path.name}.restoring")
    shutil.rmtree(made, ignore_errors=True)
    try:
        _make(backup, made)
        aside = _aside(home, made, manifest.log_id) if there else None
        if home.path.exists():
            home.path.rmdir()  # it is empty
        made.rename(home.path)
        sync(home.path.parent)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    missing = len(manifest.missing)
    return RestoreDocument(str(home.path), events, blobs, missing, str(aside or ""))


def _check_log(path: Path) -> int:
    with opened(path) as log:
        return log.verify()


def _check_blobs(backup: Path, missing: frozenset[str]) -> int:
    """Read every blob, and look for those that events name; how many there are."""
    store, count = BlobStore(backup / BLOBS), 0
    for digest, _ in store.idle(0.0):
        store.check(digest)
        count += 1
    with opened(backup / LOG) as log:
        named = blobs_named(HomeLog(Home(backup), log, store))
    for digest in sorted(named.keys() - missing):
        if not store.has(digest):
            raise BlobMissingError(digest)
    return count


def _make(backup: Path, made: Path) -> None:
    """A home beside the one that is to be there."""
    made.parent.mkdir(parents=True, exist_ok=True)
    others = backup / OTHERS
    if not others.exists():  # a kill came between the two renames: the earlier files are whole
        others = backup / f"{OTHERS}{OLD}"
    shutil.copytree(others, made, symlinks=True)
    made.chmod(PRIVATE)
    shutil.copy2(backup / LOG, made / LOG)
    if (backup / BLOBS).is_dir():  # a log may name none
        shutil.copytree(backup / BLOBS, made / BLOBS)
    if (backup / ARCHIVE).is_dir():
        shutil.copytree(backup / ARCHIVE, made / ARCHIVE, dirs_exist_ok=True)
    for path in (made / LOG, made):
        sync(path)


def _aside(home: Home, made: Path, log_id: str) -> Path:
    """Move the home that is there aside; its new place."""
    with _held(home):
        refuse_loss(home, home.log_path, made / LOG, KEPT)
        keys = home.path / KEYS
        if keys.is_dir() and _log_id(home) == log_id:
            shutil.copytree(keys, made / KEYS, symlinks=True, dirs_exist_ok=True)
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        aside = home.path.with_name(f"{home.path.name}.before-{stamp}")
        home.path.rename(aside)
    return aside


@contextmanager
def _held(home: Home) -> Iterator[None]:
    """Nobody else has the home meanwhile."""
    if not home.log_path.exists():
        yield
        return
    try:
        lock = OwnerLock(home.log_path, "restore")
    except LogHeldError as error:
        raise HomeHeldError(str(home.path), error.pid, error.held_for) from None
    try:
        yield
    finally:
        lock.release()


def _log_id(home: Home) -> str:
    if not home.log_path.exists():
        return ""
    with opened(home.log_path) as log:
        return log.meta().log_id
