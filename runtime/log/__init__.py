"""The append-only event log, in SQLite and in memory, and the blobs its events point to."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from cortex.bus import Blobs

    from . import tiles
    from .agent_work import AgentWork
    from .blobs import BlobStore, MemoryBlobs
    from .errors import (
        BlobCorruptError,
        BlobDiskError,
        BlobError,
        BlobFullError,
        BlobMissingError,
        BlobTooLargeError,
        LogAccessError,
        LogAlteredError,
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
    from .failures import no_room
    from .fitting import Mending
    from .memory import MemoryLog
    from .mending import How, Mended, StateReport, examine, mend
    from .moving import Difference, summary
    from .owner import OwnerLock, create_private, private
    from .schema import LOG_FORMAT, Durability, Meta
    from .sqlite import EventLog
    from .state_tables import misplaced
    from .tiles import leaf_hash
else:
    lazily(__name__)

__all__ = [
    "LOG_FORMAT",
    "AgentWork",
    "BlobCorruptError",
    "BlobDiskError",
    "BlobError",
    "BlobFullError",
    "BlobMissingError",
    "BlobStore",
    "BlobTooLargeError",
    "Blobs",
    "Difference",
    "Durability",
    "EventLog",
    "How",
    "LogAccessError",
    "LogAlteredError",
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
    "Mended",
    "Mending",
    "Meta",
    "NotALogError",
    "OwnerLock",
    "RowRefusedError",
    "StateReport",
    "create_private",
    "examine",
    "leaf_hash",
    "mend",
    "misplaced",
    "no_room",
    "private",
    "summary",
    "tiles",
]
