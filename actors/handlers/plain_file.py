"""Files that somebody named: read without ever waiting for one, written as an editor does."""

import contextlib
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
        raise OSError("it is not a plain file")
    return file


def target_of(path: Path, workspace: Path) -> Path:
    """The file that writing to *path* changes: where its links lead, if that is in *workspace*.

    Raises:
        OSError: It is a link out of *workspace*, or a name in it leads out by a link in between.
    """
    try:
        target = path.resolve()
    except RuntimeError as error:  # Python 3.11 and 3.12, of links in a circle
        raise OSError("its links lead nowhere") from error
    named_inside = Path(os.path.normpath(path)).is_relative_to(os.path.normpath(workspace))
    if (named_inside or path.is_symlink()) and not target.is_relative_to(workspace.resolve()):
        raise OSError(f"it is a link out of the workspace, to {target}: name that file instead")
    return target


def replace_plain(path: Path, data: bytes, staging: str) -> None:
    """Put *data* in the place of the file at *path* at once, with the mode and owner it has.

    A new file gets the mode that the umask leaves. Another hard link of the file keeps what it had.

    Args:
        path: No link.
        data: All of the file.
        staging: What no other file beside it is called.

    Raises:
        OSError: It cannot be written, may not be, or is no plain file.
        ValueError: *path* holds a zero byte.
    """
    had = _status(path)
    if had is not None and not stat.S_ISREG(had.st_mode):
        raise OSError("it is not a plain file")
    if had is not None and not os.access(path, os.W_OK):  # which a rename would not ask
        raise PermissionError("it may not be written")
    staged = path.parent / f".{staging}"
    try:
        staged.write_bytes(data)
        if had is not None:
            with contextlib.suppress(OSError):  # only root gives files away
                os.chown(staged, had.st_uid, had.st_gid)
            staged.chmod(stat.S_IMODE(had.st_mode))
        staged.replace(path)
    except BaseException:
        with contextlib.suppress(OSError, ValueError):
            staged.unlink()
        raise


def reason_of(error: OSError | ValueError) -> str:
    """What went wrong, without the path."""
    return getattr(error, "strerror", None) or str(error)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
