"""The append-only event log, in SQLite and in memory, and the blobs its events point to."""

from . import tiles
from .blobs import Blobs, BlobStore, MemoryBlobs
from .errors import (
    BlobCorruptError,
    BlobDiskError,
    BlobError,
    BlobFullError,
    BlobMissingError,
    BlobTooLargeError,
    LogAccessError,
    LogClosedError,
    LogCorruptError,
    LogDiskError,
    LogFullError,
    LogHeldError,
    LogLockedError,
    LogLostError,
    LogMissingError,
    LogNewerError,
    NotALogError,
    RowRefusedError,
)
from .memory import MemoryLog
from .owner import OwnerLock
from .private import create_private, private
from .schema import LOG_FORMAT, Durability, Meta
from .sqlite import EventLog
from .standing import misplaced
from .tiles import leaf_hash

__all__ = [
    "LOG_FORMAT",
    "BlobCorruptError",
    "BlobDiskError",
    "BlobError",
    "BlobFullError",
    "BlobMissingError",
    "BlobStore",
    "BlobTooLargeError",
    "Blobs",
    "Durability",
    "EventLog",
    "LogAccessError",
    "LogClosedError",
    "LogCorruptError",
    "LogDiskError",
    "LogFullError",
    "LogHeldError",
    "LogLockedError",
    "LogLostError",
    "LogMissingError",
    "LogNewerError",
    "MemoryBlobs",
    "MemoryLog",
    "Meta",
    "NotALogError",
    "OwnerLock",
    "RowRefusedError",
    "create_private",
    "leaf_hash",
    "misplaced",
    "private",
    "tiles",
]
