"""Read models: folds over the log that are checkpointed with their tables and can be rebuilt."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .errors import (
        ProjectionDamagedError,
        ProjectionDiskError,
        ProjectionError,
        ProjectionMissingError,
        ProjectionsHeldError,
        RecordUnreadableError,
    )
    from .home_log import REQUESTS, STREAM, HomeLog, Selection, position_at
    from .index import EventIndex, Positions, Sought, find, topics_in
    from .projection import Changes, Projection
    from .runner import Runner, next_to
    from .snapshot import Checkpoint, Snapshot, checkpoints, snapshot
    from .tables import bytes_of, digest_of, rows_in
else:
    lazily(__name__)

__all__ = [
    "REQUESTS",
    "STREAM",
    "Changes",
    "Checkpoint",
    "EventIndex",
    "HomeLog",
    "Positions",
    "Projection",
    "ProjectionDamagedError",
    "ProjectionDiskError",
    "ProjectionError",
    "ProjectionMissingError",
    "ProjectionsHeldError",
    "RecordUnreadableError",
    "Runner",
    "Selection",
    "Snapshot",
    "Sought",
    "bytes_of",
    "checkpoints",
    "digest_of",
    "find",
    "next_to",
    "position_at",
    "rows_in",
    "snapshot",
    "topics_in",
]
