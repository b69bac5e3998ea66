"""Read models: folds over the log that are checkpointed with their tables and can be rebuilt."""

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
from .snapshot import Snapshot, snapshot

__all__ = [
    "Changes",
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
    "find",
    "snapshot",
]
