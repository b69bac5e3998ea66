"""Named files: reading never blocks, writing works as in an editor."""

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
    """The file that writing to *path* changes: the target of its links, if that is in *workspace*.

    Raises:
        OSError: It is a link out of *workspace*, or a folder on its path is such a link.
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
    """Replace the file at *path* by *data* atomically, and keep its mode and owner.

    A new file gets the mode that the umask leaves. Other hard links of the file keep the old data.

    Args:
        path: The file; not a link.
        data: The whole content.
        staging: An unused file name beside it.

    Raises:
        OSError: It cannot be written, is write-protected, or is not a plain file.
        ValueError: *path* holds a zero byte.
    """
    had = _status(path)
    if had is not None and not stat.S_ISREG(had.st_mode):
        raise OSError("it is not a plain file")
    if had is not None and not os.access(path, os.W_OK):  # a rename would not check that
        raise PermissionError("it may not be written")
    staged = path.parent / f".{staging}"
    try:
        staged.write_bytes(data)
        if had is not None:
            with contextlib.suppress(OSError):  # only root may change the owner
                os.chown(staged, had.st_uid, had.st_gid)
            staged.chmod(stat.S_IMODE(had.st_mode))
        staged.replace(path)
    except BaseException:
        with contextlib.suppress(OSError, ValueError):
            staged.unlink()
        raise


def reason_of(error: OSError | ValueError) -> str:
    """The error, without the path."""
    return getattr(error, "strerror", None) or str(error)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
