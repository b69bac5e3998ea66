"""Opening files that somebody named, without ever waiting for one."""

import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_plain(path: Path) -> BinaryIO:
    """The file at *path*, for reading.

    Raises:
        OSError: It cannot be opened, or is no plain file: a pipe or a device might never end.
        ValueError: *path* holds a zero byte.
    """
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115  # the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("it is no plain file")
    return file


def reason_of(error: OSError | ValueError) -> str:
    """What went wrong, without the path."""
    return getattr(error, "strerror", None) or str(error)


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
