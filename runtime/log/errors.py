"""What can go wrong with the log and its blobs; one class for each thing a caller can do.

LogError (in the bus)
├── LogAccessError      the file may not be read or written: fix permissions, or open it readonly
├── LogClosedError      the log was closed: open it again
├── LogCorruptError     the events on disk are not what was written: restore them
│   ├── LogAlteredError     only cursors, work, deadlines or receipts changed: check and repair them
│   └── SegmentError        a file of the archive is missing, or another one: restore that file
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
    └── BlobTooLargeError   it is larger than a blob may be: keep it in a file
"""

from cortex.bus import CortexError, DiskFullError, LogError, with_fields


@with_fields
class LogAccessError(LogError):
    """The permissions of the file or its folder do not allow the access."""

    path: str
    problem: str

    says = (
        "{path} cannot be used: {problem}; check the owner and mode of the file and "
        "its folder and whether the file system is mounted read-only"
    )


@with_fields
class LogClosedError(LogError):
    """The log was closed before it was used."""

    path: str

    says = "{path} is closed: open it again before using it"


@with_fields
class LogCorruptError(LogError):
    """What is on disk is not what was written."""

    path: str
    problem: str
    position: int | None = None

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
        self.args = (path, problem)  # the arguments of this constructor, so that it pickles

    def __str__(self) -> str:
        return (
            f"{self.path} does not fit its events: {self.problem}; `cortex log state` shows the "
            "differences and what to do"
        )


class SegmentError(LogCorruptError):
    """A file of the archive is missing, or is not what was sealed; the rest of the log is whole."""

    def __str__(self) -> str:
        return (
            f"{self.path} does not hold what was sealed, from position {self.position}: "
            f"{self.problem}; restore this file from a backup"
        )


@with_fields
class LogDiskError(LogError):
    """Nothing of the batch was written; the log is unchanged and can be used again."""

    path: str
    problem: str

    says = (
        "{path} could not be written: {problem}; nothing of this request was "
        "recorded, free some space or check the disk, then repeat it"
    )


class LogFullError(LogDiskError, DiskFullError):
    """The disk is full."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "the disk is full")
        self.args = (path,)  # the arguments of this constructor, so that it pickles


@with_fields
class LogHeldError(LogError):
    """Another process owns the log; a log has one writer."""

    path: str
    pid: int | None
    held_for: str = ""  # a word for the holder, if it gave one

    def __str__(self) -> str:
        holder = "another process" if self.pid is None else f"process {self.pid}"
        return f"{self.path} is held by {holder}: stop it first, or open the log for reading only"


@with_fields
class LogLockedError(LogError):
    """Another program keeps a transaction open on the file."""

    path: str
    waited_s: float

    says = (
        "{path} stayed locked for {waited_s:g} s by a program that is not its "
        "owner: close that program's transaction, then repeat; nothing was recorded"
    )


@with_fields
class LogMissingError(LogError, FileNotFoundError):
    """There is no log to read at that path."""

    path: str

    says = "{path} does not exist: start Cortex once to make it, or name another home"


@with_fields
class LogNewerError(LogError):
    """A newer version of Cortex wrote this log."""

    path: str
    found: int
    known: int

    says = (
        "{path} has format {found} and this version reads up to {known}: "
        "upgrade Cortex; the file was not touched"
    )


@with_fields
class NotALogError(LogError):
    """The file exists, but is something else."""

    path: str
    problem: str

    says = (
        "{path} is not an event log: {problem}; move it away or name another path, "
        "it was not touched"
    )


@with_fields
class RowRefusedError(LogError):
    """A row does not continue the log; the hub numbers rows, so this is a defect of the hub."""

    position: int
    problem: str

    says = "row {position} was refused: {problem}; nothing of its batch was recorded"


class BlobError(CortexError):
    """A blob cannot be stored or read."""


@with_fields
class BlobCorruptError(BlobError):
    """The bytes on disk are not those of the digest."""

    digest: str
    problem: str

    says = "blob {digest} is damaged: {problem}; restore it from a backup"


@with_fields
class BlobDiskError(BlobError):
    """The disk could not write the blob."""

    path: str
    problem: str

    says = (
        "a blob could not be written to {path}: {problem}; free some space or check "
        "the disk, then repeat"
    )


class BlobFullError(BlobDiskError, DiskFullError):
    """The disk is full."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "the disk is full")
        self.args = (path,)  # the arguments of this constructor, so that it pickles


@with_fields
class BlobMissingError(BlobError, KeyError):
    """There is no blob of that digest."""

    digest: str

    says = "blob {digest} is not in this home: restore blobs/ from a backup"


@with_fields
class LogLostError(LogError):
    """The lock file of a log was removed or replaced while this process held it."""

    path: str

    says = (
        "{path}.lock was removed or replaced while this process owned the log, and "
        "another may own it now: nothing more is recorded here; stop whatever runs on this "
        "home, then start again"
    )


@with_fields
class BlobTooLargeError(BlobError):
    """More bytes than a blob may have."""

    size_bytes: int
    most_bytes: int

    says = (
        "{size_bytes:,} bytes are more than the {most_bytes:,} that a blob may "
        "have: keep it in a file and record its path"
    )
