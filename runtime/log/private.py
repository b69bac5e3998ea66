"""Files of a home: what stands in them is nobody else's business."""

import contextlib
import os
from pathlib import Path

PRIVATE = 0o600


def private(path: str, flags: int) -> int:
    """An opener for `open` that makes files which their owner alone may read and write."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, PRIVATE)
    try:
        os.fchmod(descriptor, PRIVATE)  # a umask takes from the mode, from the owner's part too
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def create_private(path: Path) -> None:
    """Make an empty file that its owner alone may read; one that is there stays as it is.

    For a database, before SQLite makes one that everybody may read: its ``-wal`` and ``-shm`` take
    the mode of the file.

    Raises:
        OSError: It cannot be made.
    """
    # One that is there is not opened: closing it would drop the locks that SQLite has on it.
    with contextlib.suppress(FileExistsError), open(path, "xb", opener=private):
        pass
