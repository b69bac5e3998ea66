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
    from .home_log import REQUESTS, STREAM, HomeLog, Selection
    from .index import EventIndex, IndexPage, find
    from .projection import Changes, Projection
    from .runner import Runner
    from .snapshot import Checkpoint, Snapshot, checkpoints, snapshot
else:
    lazily(__name__)

__all__ = [
    "REQUESTS",
    "STREAM",
    "Changes",
    "Checkpoint",
    "EventIndex",
    "HomeLog",
    "IndexPage",
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
    "checkpoints",
    "find",
    "snapshot",
]
