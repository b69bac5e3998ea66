"""What can go wrong with the log and its blobs; one class for each thing a caller can do.

LogError (in the bus)
├── LogAccessError      the file may not be read or written: fix permissions, or open it readonly
├── LogClosedError      the log was closed: open it again
├── LogCorruptError     what is on disk is not what was written: restore it
│   └── LogAlteredError     only what moves with the events is not: look at it, put it right
├── LogDiskError        the disk is failing, or may be full: make room, then repeat
│   └── LogFullError        it is full (a DiskFullError of the bus)
├── LogHeldError        another process owns the log: stop it, or open readonly
├── LogLockedError      another program has a transaction open on the file: close it, then repeat
├── LogLostError        its lock file is gone: stop whatever else runs on the home, start again
├── LogMissingError     there is no log to read
├── LogNewerError       a newer Cortex wrote it: upgrade
├── NotALogError        the file is something else: name another path
└── RowRefusedError     a row does not continue the log: a defect of the hub
CortexError (in the bus)
└── BlobError
    ├── BlobCorruptError    the bytes are not those of the digest: restore it
    ├── BlobDiskError       it could not be written: make room, then repeat
    │   └── BlobFullError       the disk is full (a DiskFullError of the bus)
    ├── BlobMissingError    there is no blob of that digest
    └── BlobTooLargeError   more than one may have: keep it in a file
"""

from cortex.bus import CortexError, DiskFullError, LogError


class LogAccessError(LogError):
    """The file or its folder may not be read or written as asked."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return (
            f"{self.path} cannot be used: {self.problem}; check the owner and mode of the file and "
            "its folder and whether the file system is mounted read-only"
        )


class LogClosedError(LogError):
    """The log was closed before it was used."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} is closed: open it again before using it"


class LogCorruptError(LogError):
    """What is on disk is not what was written."""

    def __init__(self, path: str, problem: str, position: int | None = None) -> None:
        super().__init__(path, problem, position)
        self.path, self.problem, self.position = path, problem, position

    def __str__(self) -> str:
        where = "" if self.position is None else f" at position {self.position}"
        return (
            f"{self.path} is damaged{where}: {self.problem}; keep the file as it is and restore "
            "log.db from a backup"
        )


class LogAlteredError(LogCorruptError):
    """Cursors, work, deadlines or receipts are not as Cortex left them; the events are whole."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.args = (path, problem)  # what this constructor takes, so that it pickles

    def __str__(self) -> str:
        return (
            f"{self.path} does not fit its events: {self.problem}; `cortex log state` shows the "
            "differences and what to do"
        )


class LogDiskError(LogError):
    """The disk took nothing of the batch; the log is as it was and can be used again."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return (
            f"{self.path} could not be written: {self.problem}; nothing of this request was "
            "recorded, free some space or check the disk, then repeat it"
        )


class LogFullError(LogDiskError, DiskFullError):
    """The disk is full."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "the disk is full")
        self.args = (path,)  # what this constructor takes, so that it pickles


class LogHeldError(LogError):
    """Another process owns the log; a log has one writer."""

    def __init__(self, path: str, pid: int | None, held_for: str = "") -> None:
        super().__init__(path, pid, held_for)
        self.path, self.pid = path, pid
        self.held_for = held_for  # what the holder is, in a word, where it says so

    def __str__(self) -> str:
        holder = "another process" if self.pid is None else f"process {self.pid}"
        return f"{self.path} is held by {holder}: stop it first, or open the log for reading only"


class LogLockedError(LogError):
    """Another program keeps a transaction open on the file."""

    def __init__(self, path: str, waited_s: float) -> None:
        super().__init__(path, waited_s)
        self.path, self.waited_s = path, waited_s

    def __str__(self) -> str:
        return (
            f"{self.path} stayed locked for {self.waited_s:g} s by a program that is not its "
            "owner: close that program's transaction, then repeat; nothing was recorded"
        )


class LogMissingError(LogError, FileNotFoundError):
    """There is no log to read at that path."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} does not exist: start Cortex once to make it, or name another home"


class LogNewerError(LogError):
    """A newer version of Cortex wrote this log."""

    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(path, found, known)
        self.path, self.found, self.known = path, found, known

    def __str__(self) -> str:
        return (
            f"{self.path} has format {self.found} and this version reads up to {self.known}: "
            "upgrade Cortex; the file was not touched"
        )


class NotALogError(LogError):
    """The file is there and is something else."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return (
            f"{self.path} is not an event log: {self.problem}; move it away or name another path, "
            "it was not touched"
        )


class RowRefusedError(LogError):
    """A row does not continue the log; the hub numbers rows, so this is a defect of the hub."""

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(position, problem)
        self.position, self.problem = position, problem

    def __str__(self) -> str:
        return f"row {self.position} was refused: {self.problem}; nothing of its batch was recorded"


class BlobError(CortexError):
    """A blob cannot be kept or given."""


class BlobCorruptError(BlobError):
    """The bytes on disk are not those of the digest."""

    def __init__(self, digest: str, problem: str) -> None:
        super().__init__(digest, problem)
        self.digest, self.problem = digest, problem

    def __str__(self) -> str:
        return f"blob {self.digest} is damaged: {self.problem}; restore it from a backup"


class BlobDiskError(BlobError):
    """The disk did not take the blob."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return (
            f"a blob could not be written to {self.path}: {self.problem}; free some space or check "
            "the disk, then repeat"
        )


class BlobFullError(BlobDiskError, DiskFullError):
    """The disk is full."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "the disk is full")
        self.args = (path,)  # what this constructor takes, so that it pickles


class BlobMissingError(BlobError, KeyError):
    """There is no blob of that digest."""

    def __init__(self, digest: str) -> None:
        super().__init__(digest)
        self.digest = digest

    def __str__(self) -> str:
        return f"blob {self.digest} is not in this home: restore blobs/ from a backup"


class LogLostError(LogError):
    """The lock file of a log was removed or replaced while this process held it."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"{self.path}.lock was removed or replaced while this process owned the log, and "
            "another may own it now: nothing more is recorded here; stop whatever runs on this "
            "home, then start again"
        )


class BlobTooLargeError(BlobError):
    """More bytes than a blob may have."""

    def __init__(self, size_bytes: int, most_bytes: int) -> None:
        super().__init__(size_bytes, most_bytes)
        self.size_bytes, self.most_bytes = size_bytes, most_bytes

    def __str__(self) -> str:
        return (
            f"{self.size_bytes:,} bytes are more than the {self.most_bytes:,} that a blob may "
            "have: keep it in a file and record its path"
        )
