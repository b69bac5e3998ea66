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
    from .index import EventIndex, Found, find
    from .projection import Changes, Projection
    from .runner import Runner
    from .snapshot import Checkpoint, Snapshot, checkpoints, snapshot
else:
    lazily(__name__)

__all__ = [
    "Changes",
    "Checkpoint",
    "EventIndex",
    "Found",
    "Projection",
    "ProjectionDamagedError",
    "ProjectionDiskError",
    "ProjectionError",
    "ProjectionMissingError",
    "ProjectionsHeldError",
    "RecordUnreadableError",
    "Runner",
    "Snapshot",
    "checkpoints",
    "find",
    "snapshot",
]
