"""Files that are private, are whole or not there at all, and survive a loss of power."""

import contextlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PRIVATE = 0o600


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A private file to write, which takes the place of *path* when the block ends without error.

    A kill leaves *path* as it was, and at most a file `NAME.*.part` beside it.

    Raises:
        OSError: It cannot be written; the error names *path*.
    """
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")  # others may write, too
    try:
        with open(part, "xb", opener=private) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync(path.parent)
    except OSError as error:
        if error.filename == os.fspath(part):  # a name that the caller never heard of
            error.filename = os.fspath(path)
        raise
    finally:
        part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private(path: str, flags: int) -> int:
    """An opener for `open` that creates files that only their owner may read and write."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, PRIVATE)
    try:
        os.fchmod(descriptor, PRIVATE)  # a umask may reduce the mode, even for the owner
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may read; an existing one stays as it is.

    For a database, before SQLite creates one readable for everybody; its ``-wal`` and ``-shm`` get
    the mode of the file.

    Raises:
        OSError: It cannot be created.
    """
    # An existing file is not opened: closing it would drop SQLite's locks on it.
    with contextlib.suppress(FileExistsError), open(path, "xb", opener=private):
        pass
