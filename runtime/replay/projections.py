"""Folds the log into projections again, in a scratch folder, and compares digests with the home."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from cortex.bus import Log
from cortex.runtime.executions import PROJECTIONS
from cortex.runtime.log import PastLog
from cortex.runtime.projections import (
    HomeLog,
    Projection,
    ProjectionMissingError,
    Runner,
    digest_of,
    snapshot,
)


class ReplayedProjection(msgspec.Struct, frozen=True):
    """A projection of the home beside the same one, folded from the log alone."""

    name: str
    position: int  # both hold every event up to here
    rows: int  # of the folded one
    recorded: str  # digest of the home's rows, hex; "" if another version made them
    replayed: str  # digest of the folded rows, hex

    @property
    def differs(self) -> bool:
        """Whether the home's rows are not what the log says."""
        return self.recorded not in ("", self.replayed)


def replay_projections(
    source: HomeLog, projections: Sequence[Projection] = PROJECTIONS
) -> Iterator[ReplayedProjection]:
    """Each of *projections* that the home has, up to the position that it holds.

    Raises:
        ProjectionError: One of them cannot be read, or there is no room for the other.
    """
    for projection in projections:
        try:
            with snapshot(source.home.projections_path, projection.name) as view:
                position = view.position
                recorded = ""
                if view.version == projection.version:
                    recorded, _ = digest_of(view.connection, projection.name)
        except ProjectionMissingError:
            continue  # the next start makes it
        if source.log is not None and position:
            replayed, rows = _folded(source.log, projection, position)
            yield ReplayedProjection(projection.name, position, rows, recorded, replayed)


def _folded(log: Log, projection: Projection, position: int) -> tuple[str, int]:
    """The digest of *projection*, folded anew up to *position*, and the number of its rows."""
    with tempfile.TemporaryDirectory(prefix="cortex-replay-") as folder:
        path = Path(folder) / "projections.db"
        runner = Runner.open(path, [projection])
        try:
            runner.advance(PastLog(log, position))
        finally:
            runner.close()
        with snapshot(path, projection.name) as view:
            return digest_of(view.connection, projection.name)
