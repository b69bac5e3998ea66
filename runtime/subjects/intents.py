"""Erasures that have begun: a file beside the keys, until all is done.

It is on disk before the key is touched, so that an erasure that is killed at any point is finished
by the next one. It does not say whose the data was.
"""

from pathlib import Path

import msgspec

from cortex.runtime.log import sync, whole_file

from .errors import SubjectKeyError
from .keys import FOLDER

END = ".erasing"


class ErasureIntent(msgspec.Struct, frozen=True):
    """What is to be erased, and what will be recorded of it."""

    subject: str  # its id
    by: str
    why: str
    asked_ns: int  # UTC
    events: int
    blobs: int
    unencrypted: int
    executions: tuple[str, ...] = ()  # whose worktrees are removed


def begin_erasure(home: Path, intent: ErasureIntent) -> None:
    """Make *intent* durable."""
    with whole_file(_path(home, intent.subject)) as file:
        file.write(msgspec.json.encode(intent))


def end_erasure(home: Path, intent: ErasureIntent) -> None:
    """Forget it: all is done."""
    path = _path(home, intent.subject)
    path.unlink(missing_ok=True)
    sync(path.parent)


def pending_erasures(home: Path) -> list[ErasureIntent]:
    """Erasures that have begun in the home at that path, and have not ended.

    Raises:
        SubjectKeyError: One of them cannot be read.
    """
    found = []
    for path in sorted((home / FOLDER).glob(f"*{END}")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=ErasureIntent))
        except (OSError, msgspec.MsgspecError) as error:
            raise SubjectKeyError(str(path), str(error)) from None
    return found


def _path(home: Path, subject: str) -> Path:
    return home / FOLDER / f"{subject}{END}"
