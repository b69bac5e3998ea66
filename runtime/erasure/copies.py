"""What a home derives from its log and may hold in clear: it is removed, and comes back without.

Read models, snapshots, indexes and the output of programs hold what the log holds encrypted. They
may be deleted at any time; a whole file is removed, since a database keeps bytes of removed rows.
"""

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from cortex.runtime.code.programs import WHOSE
from cortex.runtime.subjects import FOLDER

DATABASES = ("projections.db", "memory.db", "snapshots.db", "cache.db")
BESIDE = ("", "-wal", "-shm", "-journal")
FOLDERS = ("cold", "logs", "notifications")
SAID = "up.log"  # and what it was renamed to
KNOWLEDGE = "knowledge.db"  # made of the user's own files, not of the log


def copies_in(home: Path, subjects: Collection[str], executions: Collection[str]) -> list[Path]:
    """Files and folders that may hold what is recorded of *subjects*, which are there now."""
    return sorted({path for path in _candidates(home, subjects, executions) if _is_there(path)})


def remove(paths: Collection[Path]) -> None:
    """Remove files and folders; those that are gone already are no problem.

    Raises:
        OSError: One of them cannot be removed.
    """
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _candidates(
    home: Path, subjects: Collection[str], executions: Collection[str]
) -> Iterator[Path]:
    for name in DATABASES:
        yield from (home / f"{name}{end}" for end in BESIDE)
    yield from (home / name for name in FOLDERS)
    yield from home.glob(f"{SAID}*")
    for path in (home / "vectors").glob("*"):
        if not path.name.startswith(KNOWLEDGE):
            yield path
    for path in (home / "effects").glob("*"):
        if _whose(path) in subjects:
            yield path
    yield from (home / "worktrees" / execution_id for execution_id in executions)
    yield from (home / FOLDER).glob("new.*")  # keys that were never finished
    yield from (home / "blobs" / "tmp").glob("*")


def _whose(effect: Path) -> str:
    try:
        return (effect / WHOSE).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()
