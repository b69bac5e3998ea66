"""Checks an existing home for damage, before anything in it is opened or created."""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from cortex.runtime.access.trust import UNFINISHED

from ..errors import HomeError

LOG, LOG_LOCK, WAL = "log.db", "log.db.lock", "log.db-wal"
DERIVED = ("projections.db", "memory.db", "snapshots.db")  # rebuilt from the log
FILES = (LOG, LOG_LOCK, *DERIVED, "projections.db.lock", "config.toml", "version")
FOLDERS = ("archive", "blobs", "keys", "knowledge", "plugins", "processes")
SIGNS = ("config.toml", "version", LOG)  # every home has at least one of these
CODE_AND_KEYS = ("config.toml", "keys", "plugins", "processes", "skills")
LOOKED_AT = 5_000  # files checked in each folder
IMPORTING = ".importing"  # behind the name of a home: the folder in which an import makes its log
HEADER_BYTES = 4_096  # size of a database without tables
WAL_HEADER_BYTES = 32


def is_of_something_else(folder: Path) -> bool:
    """Whether *folder* has content that is not a home's; an unfinished home is still one.

    Raises:
        HomeError: It cannot be read.
    """
    try:
        names = {path.name for path in folder.iterdir()} if folder.exists() else set[str]()
    except OSError as error:
        raise _unseen(folder, error) from error
    names -= {name for name in names if name.startswith(UNFINISHED)}
    return bool(names - {*FOLDERS, ".gitignore"}) and names.isdisjoint(SIGNS)


def examine(home: Path) -> None:
    """Refuse a home that has another file in the place of one of its own, or whose log is lost.

    Raises:
        HomeError: The message names the file and what to do.
    """
    try:
        _refuse_misplaced(home)
        _refuse_lost_log(home)
    except OSError as error:
        raise _unseen(home, error) from error


def refuse_unwritable(home: Path) -> None:
    """Refuse a home whose derived files cannot be written.

    Raises:
        HomeError: The message names the file and what to do.
    """
    if not os.access(home, os.W_OK | os.X_OK):
        return  # nothing here can be written; opening the log reports that
    # Checked early: a component that cannot open them would be restarted until its time is over.
    for path in (home / name for name in DERIVED):
        if path.exists() and not os.access(path, os.R_OK | os.W_OK):
            raise HomeError(
                str(path),
                "cannot be read and written: check its owner and mode, or delete it; Cortex "
                "rebuilds it from the log",
            )


def _unseen(home: Path, error: OSError) -> HomeError:
    why = error.strerror or str(error)
    return HomeError(
        error.filename or str(home), f"cannot be read: {why}; check its owner and mode"
    )


def _refuse_misplaced(home: Path) -> None:
    for path in (home / name for name in FILES):
        if path.exists() and not path.is_file():
            raise HomeError(str(path), "is not a plain file, which is expected there: move it away")
    for path in (home / name for name in FOLDERS):
        if path.exists() and not path.is_dir():
            raise HomeError(str(path), "is not a folder, which is expected there: move it away")


def _refuse_lost_log(home: Path) -> None:
    """Refuse an empty log beside files of an old one: opening it would silently make a new log."""
    log, wal = home / LOG, home / WAL
    if _size(log) > HEADER_BYTES or _size(wal) > WAL_HEADER_BYTES:
        return
    if not any(path.exists() for path in (log, wal, home / LOG_LOCK)):
        return  # the log is elsewhere, or was never made
    traces = [name for name in DERIVED if _size(home / name)]
    if any((home / "blobs").glob("??/*")):
        traces.append("blobs")
    if traces == ["blobs"] and (home.with_name(home.name + IMPORTING) / LOG).exists():
        raise HomeError(
            str(log), "is not there yet: an import into this home was cut short; import again"
        )
    if traces:
        raise HomeError(
            str(log),
            f"{'holds no events' if log.exists() else 'is gone'}, though events were recorded: "
            f"there is {', '.join(traces)}; restore log.db, and log.db-wal if there is one, from a "
            "backup, or move these away to start with an empty log",
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def exposed(home: Path) -> Iterator[tuple[Path, str]]:
    """Files and folders with code or keys that other users may write, with what to do.

    A user that may write a folder may replace any file in it. An owner
    other than this user is accepted for root, which may be any user in a container.
    """
    tops = [home, *(home / name for name in CODE_AND_KEYS)]
    inside = (
        each for top in tops[1:] if top.is_dir() for each in islice(top.rglob("*"), LOOKED_AT)
    )
    for path in (*tops, *inside):
        try:
            status = path.lstat()
        except OSError:
            continue  # missing, or unusable anyway
        if stat.S_ISLNK(status.st_mode):
            continue  # the target of a link is not checked
        if status.st_mode & stat.S_IWOTH:
            mode = stat.S_IMODE(status.st_mode)
            yield path, f"may be written by everybody (mode {mode:o}): chmod o-w {path}"
        elif status.st_uid not in (os.geteuid(), 0) and os.geteuid() != 0:
            yield path, f"belongs to the user {status.st_uid}: chown it, or remove it"


def refuse_exposed(home: Path) -> None:
    """Refuse a home whose code or keys other users may write.

    Raises:
        HomeError: The message names the first such file and what to do.
    """
    for path, problem in exposed(home):
        raise HomeError(str(path), f"{problem}; look at its content first")
