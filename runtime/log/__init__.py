"""The append-only event log, in SQLite and in memory, and the blobs its events point to."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from cortex.bus import Blobs

    from . import tiles
    from .agent_work import AgentWork
    from .archive import ARCHIVE
    from .archiver import Archiver
    from .blobs import LARGEST_BYTES, BlobStore, MemoryBlobs
    from .durable import create_private, private, sync, whole_file
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
        SegmentError,
    )
    from .failures import no_room
    from .fitting import Mending
    from .memory import MemoryLog
    from .mending import How, Mended, StateReport, examine, mend
    from .merkle import is_consistent, root_of_inclusion
    from .moving import Difference, summary
    from .owner import OwnerLock
    from .past import PastLog
    from .schema import LOG_FORMAT, Durability, Meta
    from .sealing import SEGMENT, Sealer
    from .segments import Segment, digest_of
    from .sqlite import EventLog
    from .state_tables import misplaced
    from .tiles import leaf_hash, whole_tiles
    from .tree import LogTree
    from .verify import Checker
else:
    lazily(__name__)

__all__ = [
    "ARCHIVE",
    "LARGEST_BYTES",
    "LOG_FORMAT",
    "SEGMENT",
    "AgentWork",
    "Archiver",
    "BlobCorruptError",
    "BlobDiskError",
    "BlobError",
    "BlobFullError",
    "BlobMissingError",
    "BlobStore",
    "BlobTooLargeError",
    "Blobs",
    "Checker",
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
    "LogTree",
    "MemoryBlobs",
    "MemoryLog",
    "Mended",
    "Mending",
    "Meta",
    "NotALogError",
    "OwnerLock",
    "PastLog",
    "RowRefusedError",
    "Sealer",
    "Segment",
    "SegmentError",
    "StateReport",
    "create_private",
    "digest_of",
    "examine",
    "is_consistent",
    "leaf_hash",
    "mend",
    "misplaced",
    "no_room",
    "private",
    "root_of_inclusion",
    "summary",
    "sync",
    "tiles",
    "whole_file",
    "whole_tiles",
]
