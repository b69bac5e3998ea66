"""The note in a served home: which process serves it, since when, and at which addresses.

The note has the address; only the socket shows whether a hub listens. So a note that a
killed hub left does no harm, and a process id is never taken from a file alone.
"""

import contextlib
import hashlib
import os
import socket
import struct
import tempfile
from pathlib import Path

import msgspec

from cortex.runtime.kernel import Home

from .errors import FolderError

FILE = "up.json"
SOCKET = "bus.sock"
LONGEST_PATH = 100  # bytes of a socket's path that every system allows
KNOCK_S = 5.0  # a listener with a full backlog is slow


class Note(msgspec.Struct, frozen=True):
    """The process that serves a home."""

    pid: int
    url: str  # on this machine: ipc://...
    urls: tuple[str, ...]  # its other addresses
    since_ns: int
    version: str  # of Cortex
    fingerprint: str = ""  # SHA-256 of the certificate shown on tls+tcp://

    @property
    def addresses(self) -> tuple[str, ...]:
        """All URLs, as clients write them: with the fingerprint of the hub."""
        return tuple(
            f"{url}#{self.fingerprint}" if url.startswith("tls") and self.fingerprint else url
            for url in (self.url, *self.urls)
        )


def write(home: Home, note: Note) -> None:
    """Write *note* to the home, atomically."""
    path = home.path / FILE
    fresh = path.with_name(f"{FILE}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(note) + b"\n")
    fresh.rename(path)


def remove(home: Home, of: int | None = None) -> None:
    """Remove the note; with a process id, only the note *of* that process."""
    if of is not None and (note := read(home)) is not None and note.pid != of:
        return
    (home.path / FILE).unlink(missing_ok=True)


def read(home: Home) -> Note | None:
    """The note in the home; None if there is none that can be read."""
    try:
        return msgspec.json.decode((home.path / FILE).read_bytes(), type=Note)
    except (OSError, msgspec.MsgspecError):
        return None


def found(home: Home) -> Note | None:
    """The note of the running hub of *home*, with its real process id; None if there is none."""
    pid = holder(socket_path(home))
    if pid is None:
        return None
    note = read(home)  # after the check: it is written before the hub listens
    if note is None:  # it was deleted, but the socket exists
        return Note(pid, url_of(home), (), 0, "")
    return msgspec.structs.replace(note, pid=pid or note.pid)


def url_of(home: Home) -> str:
    """The address of the hub for the home's own clients."""
    return f"ipc://{socket_path(home)}"


def socket_path(home: Home) -> Path:
    """The socket of a home: in it, or in a folder of the user's if its path is too long.

    Raises:
        FolderError: That folder belongs to another user.
    """
    path = home.path / SOCKET
    if len(os.fsencode(path)) <= LONGEST_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(home.path)).hexdigest()[:32]
    return _short_folder() / f"{digest}.sock"


def holder(path: Path) -> int | None:
    """Process id of the listener on the socket at *path*; 0 if the system does not tell.

    None if no process listens.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.settimeout(KNOCK_S)
        try:
            knock.connect(os.fspath(path))
        except (TimeoutError, BlockingIOError):  # it listens, but its backlog is full
            return 0
        except OSError:
            return None
        option = getattr(socket, "SO_PEERCRED", None)
        if option is None:
            return 0
        with contextlib.suppress(OSError):
            # The process that called `listen`, from the kernel, so that no file can forge it.
            said = knock.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
            pid: int = _CREDENTIALS.unpack(said)[0]
            return pid
        return 0


def _short_folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    base = Path(runtime) if runtime else Path(tempfile.gettempdir())
    folder = base / ("cortex" if runtime else f"cortex-{os.geteuid()}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    # In a folder that all users may write, any of them could create or open it.
    if status.st_uid != os.geteuid() or status.st_mode & 0o077 or folder.is_symlink():
        raise FolderError(str(folder))
    return folder


_CREDENTIALS = struct.Struct("3i")  # process, user, group
