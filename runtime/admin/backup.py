"""Backups of a home: its log as it is at one moment, every blob that it names, and its files.

A backup is a folder. Backing up into it again adds what is new: blobs and files of the archive
never change, so only new ones are copied, and the log takes the place of the old one when it is
whole. A kill at any point leaves a backup from which the home can be restored, the earlier one or
the new one.
"""

import shutil
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from cortex.bus import named_after
from cortex.runtime.audit import refuse_loss
from cortex.runtime.kernel import Home, RefusedError, iso
from cortex.runtime.log import (
    ARCHIVE,
    BlobError,
    BlobStore,
    EventLog,
    LogMissingError,
    Segment,
    SegmentError,
    create_private,
    digest_of,
    sync,
    whole_file,
)
from cortex.runtime.projections import HomeLog
from cortex.runtime.serving.doctor import blobs_named
from cortex.runtime.subjects import PersonalBlobs, PersonalLog, SubjectKeys

FILES = ("config.toml", "version", "id", ".gitignore")
FOLDERS = ("effects", "heads", "knowledge", "plugins", "processes", "skills", "worktrees")
LOG, BLOBS, OTHERS, MANIFEST = "log.db", "blobs", "files", "backup.json"
NEW, OLD = ".new", ".old"  # ends of what takes the place of something, and of what made way
PRIVATE = 0o700
KEPT = "back up into a new folder"
BESIDE = ("-wal", "-shm", "-journal")  # files of SQLite beside a database


class BackupManifest(msgspec.Struct):
    """What a backup says of itself; written last."""

    log_id: str
    events: int  # of the log
    blobs: int
    missing: tuple[str, ...]  # digests of blobs that were missing or damaged in the home
    made: str  # UTC


class BackupDocument(msgspec.Struct):
    """What a backup holds."""

    path: str
    log_id: str
    events: int  # of the log
    blobs: int
    copied: int  # blobs that were copied this time
    missing: int  # blobs that events name, and that were missing or damaged in the home


def back_up(home: Home, target: Path) -> BackupDocument:
    """Copy *home* into the folder *target*: a new one, or an earlier backup of the same home.

    It may run while a hub is up. Keys and all that can be made again are left out.

    Raises:
        RefusedError: The folder holds something else, or the home has no log yet, or the earlier
            backup has records that the home has lost and still has to keep.
        LogError: The log is damaged: the earlier backup stays as it was.
        OSError: A file cannot be read or written.
    """
    home.check()
    with opened(home.log_path) as log:
        log_id = log.meta().log_id
    _refuse_other(home, target, log_id)
    target.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    _copy_log(home.log_path, target / f"{LOG}{NEW}")
    with opened(target / f"{LOG}{NEW}") as log:
        _copy_archive(home.path / ARCHIVE, target / ARCHIVE, log.archive.segments)
        events = log.verify()
    if (target / LOG).exists():
        refuse_loss(home, target / LOG, target / f"{LOG}{NEW}", KEPT)
    store, kept = BlobStore(home.blobs), BlobStore(target / BLOBS, durability="full")
    with opened(target / f"{LOG}{NEW}") as log:
        keys = SubjectKeys.of_home(home.path)  # names of blobs are in what they decrypt
        seen, readable = PersonalLog(log, keys), PersonalBlobs(store, keys)
        digests, copied = _copy_blobs(named_after(seen, 0, readable), store, kept)
        named = blobs_named(HomeLog(home, seen, readable))
    missing = tuple(sorted(digest for digest in named if not kept.has(digest)))
    _copy_others(home.path, target / f"{OTHERS}{NEW}")
    made = BackupManifest(log_id, events, len(digests), missing, iso(time.time_ns()))
    _put_in_place(target, made)
    return BackupDocument(str(target), log_id, events, len(digests), copied, len(missing))


def manifest_of(folder: Path) -> BackupManifest:
    """What the backup in *folder* says of itself.

    Raises:
        RefusedError: It is no backup, or was never finished.
    """
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=BackupManifest)
    except FileNotFoundError:
        raise RefusedError(f"{folder} is no backup, or it was never finished") from None
    except msgspec.MsgspecError as error:
        raise RefusedError(f"{folder / MANIFEST} cannot be read ({error})") from None


def opened(path: Path) -> "closing[EventLog]":
    """The log at *path*, for reading.

    Raises:
        RefusedError: There is none.
    """
    try:
        return closing(EventLog.open(path, readonly=True))
    except LogMissingError:
        raise RefusedError("nothing was recorded yet: there is nothing to back up") from None


def _refuse_other(home: Home, target: Path, log_id: str) -> None:
    """Refuse to write into a folder that is something else than a backup of this log."""
    if target.exists() and not target.is_dir():
        raise RefusedError(f"{target} is a file: name a folder")
    if target.resolve().is_relative_to(home.path.resolve()):
        raise RefusedError(f"{target} is inside the home: name a folder elsewhere")
    if not target.exists() or not [*target.iterdir()]:
        return
    parts = (LOG, ARCHIVE, BLOBS, OTHERS, MANIFEST)
    if not all(path.name.startswith(parts) for path in [*target.iterdir()]):
        raise RefusedError(f"{target} holds something else than a backup: name a new folder")
    if (target / LOG).exists():
        with opened(target / LOG) as log:
            other = log.meta().log_id
        if other != log_id:
            raise RefusedError(f"{target} is a backup of another home: name a new folder")


def _copy_log(source: Path, target: Path) -> None:
    """Copy the log as it is at one moment."""
    _remove_log(target)
    create_private(target)
    with (
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as old,
        closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)  # in one read transaction: whoever writes goes on meanwhile
        new.execute("pragma journal_mode = delete")  # one file, without another beside it
    sync(target)


def _copy_archive(source: Path, target: Path, segments: Sequence[Segment]) -> None:
    """Copy the files of the archive that are not there yet; verifying the log checks them.

    Raises:
        SegmentError: One is missing.
    """
    if segments:
        target.mkdir(mode=PRIVATE, exist_ok=True)
    for segment in segments:
        path = target / segment.name
        if path.is_file() and digest_of(path) == segment.digest:
            continue
        of = source / segment.name
        if not of.is_file():  # a pipe would never end
            raise SegmentError(str(of), "it is missing", segment.first)
        with of.open("rb") as old, whole_file(path) as new:
            shutil.copyfileobj(old, new)


def _remove_log(path: Path) -> None:
    for end in ("", *BESIDE):
        path.with_name(path.name + end).unlink(missing_ok=True)


def _copy_blobs(named: set[str], source: BlobStore, target: BlobStore) -> tuple[set[str], int]:
    """Copy the blobs that are named and not there yet: the digests, and how many were copied."""
    copied = 0
    for digest in sorted(each for each in named if source.has(each) and not target.has(each)):
        with suppress(BlobError):  # one that is damaged counts as missing
            target.put(source.get(digest))
            copied += 1
    return {digest for digest in named if target.has(digest)}, copied


def _copy_others(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(mode=PRIVATE)
    for name in FILES:
        if (source / name).is_file():
            shutil.copy2(source / name, target / name)
    for name in FOLDERS:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, symlinks=True)


def _put_in_place(target: Path, manifest: BackupManifest) -> None:
    """Let the new files take the place of the old ones; each of them is whole."""
    text = msgspec.json.format(msgspec.json.encode(manifest))
    (target / f"{MANIFEST}{NEW}").write_bytes(text)
    for end in BESIDE:
        (target / f"{LOG}{end}").unlink(missing_ok=True)
    (target / f"{LOG}{NEW}").replace(target / LOG)
    old = target / f"{OTHERS}{OLD}"
    if (target / OTHERS).exists():  # else an earlier kill left the old ones alone
        shutil.rmtree(old, ignore_errors=True)
        (target / OTHERS).rename(old)
    (target / f"{OTHERS}{NEW}").rename(target / OTHERS)
    shutil.rmtree(old, ignore_errors=True)
    (target / f"{MANIFEST}{NEW}").replace(target / MANIFEST)
    sync(target)
