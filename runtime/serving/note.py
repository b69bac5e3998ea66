"""The note that a served home carries: who serves it, since when, and where it listens.

The note says where to knock; whether somebody is there, only the socket says. So a note that a
killed hub left behind fools nobody, and a process id is never taken from a file alone.
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
LONGEST_PATH = 100  # bytes of a socket's path that every system takes
KNOCK_S = 5.0  # a listener with a full backlog is there, and is slow


class Note(msgspec.Struct, frozen=True):
    """Who serves a home."""

    pid: int
    url: str  # on this machine: ipc://...
    urls: tuple[str, ...]  # wherever else it listens
    since_ns: int
    version: str  # of Cortex
    fingerprint: str = ""  # SHA-256 of the certificate shown on tls+tcp://

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every URL, as clients write it: with the fingerprint that they know the hub by."""
        return tuple(
            f"{url}#{self.fingerprint}" if url.startswith("tls") and self.fingerprint else url
            for url in (self.url, *self.urls)
        )


def write(home: Home, note: Note) -> None:
    """Leave *note* in the home, whole or not at all."""
    path = home.path / FILE
    fresh = path.with_name(f"{FILE}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(note) + b"\n")
    fresh.rename(path)


def remove(home: Home, of: int | None = None) -> None:
    """Take the note back; with a process id, only where it is the note *of* that process."""
    if of is not None and (note := read(home)) is not None and note.pid != of:
        return
    (home.path / FILE).unlink(missing_ok=True)


def read(home: Home) -> Note | None:
    """The note in the home; None where there is none that can be read."""
    try:
        return msgspec.json.decode((home.path / FILE).read_bytes(), type=Note)
    except (OSError, msgspec.MsgspecError):
        return None


def found(home: Home) -> Note | None:
    """The note of the hub that is up on *home*, with its real process id; None where none is."""
    pid = holder(socket_path(home))
    if pid is None:
        return None
    note = read(home)  # now: it is written before anybody listens
    if note is None:  # it was deleted; the socket is there all the same
        return Note(pid, url_of(home), (), 0, "")
    return msgspec.structs.replace(note, pid=pid or note.pid)


def url_of(home: Home) -> str:
    """Where the home's own clients find its hub."""
    return f"ipc://{socket_path(home)}"


def socket_path(home: Home) -> Path:
    """The socket of a home: in it, or under a folder of the user's where its path is too long.

    Raises:
        FolderError: That folder belongs to somebody else.
    """
    path = home.path / SOCKET
    if len(os.fsencode(path)) <= LONGEST_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(home.path)).hexdigest()[:32]
    return _short_folder() / f"{digest}.sock"


def holder(path: Path) -> int | None:
    """Process id of who listens on the socket at *path*; 0 where the system does not say.

    None where nobody does.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.settimeout(KNOCK_S)
        try:
            knock.connect(os.fspath(path))
        except (TimeoutError, BlockingIOError):  # it is there, and its backlog is full
            return 0
        except OSError:
            return None
        option = getattr(socket, "SO_PEERCRED", None)
        if option is None:
            return 0
        with contextlib.suppress(OSError):
            # Whoever called `listen`, as the kernel knows it: no file can lie about that.
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
    # In a folder that all may write anybody could have laid it, or open it.
    if status.st_uid != os.geteuid() or status.st_mode & 0o077 or folder.is_symlink():
        raise FolderError(str(folder))
    return folder


_CREDENTIALS = struct.Struct("3i")  # process, user, group
