"""The projections of a home: how far they are, whether they are right, and building them anew."""

from collections.abc import Sequence

import msgspec

from cortex.runtime.executions import PROJECTIONS
from cortex.runtime.kernel import Home, NotFoundError, RefusedError, many
from cortex.runtime.projections import (
    Checkpoint,
    HomeLog,
    Projection,
    ProjectionsHeldError,
    Runner,
    bytes_of,
    checkpoints,
    next_to,
    rows_in,
    snapshot,
)
from cortex.runtime.replay import ReplayedProjection, replay_projections


class ProjectionRow(msgspec.Struct, kw_only=True):
    """One projection, as its tables are."""

    name: str
    version: int  # of the tables; 0 if there are none
    wanted: int  # the version that this Cortex makes; 0 if it knows no such projection
    position: int  # its checkpoint: every event up to here is in the tables
    head: int  # of the log
    rows: int
    size_bytes: int | None  # with its indexes; None if this SQLite cannot say
    building: int | None  # how far the wanted version is, beside these tables; None: it is not

    @property
    def behind(self) -> int:
        """Events that are not in the tables yet."""
        return max(0, self.head - self.position)

    @property
    def state(self) -> str:
        """In a word or two, how it is."""
        if not self.wanted:
            return "of another program"
        if not self.version:
            return "missing"
        if self.building is not None:
            return f"rebuilding, at {self.building:,}"
        if self.version != self.wanted:
            return f"version {self.wanted} at the next start"
        return f"{many(self.behind, 'event')} behind" if self.behind else "current"


class RebuiltDocument(msgspec.Struct):
    """Projections that were folded again from the log."""

    rebuilt: list[str]
    position: int  # the head of the log that they are at


def projection_rows(home: Home) -> list[ProjectionRow]:
    """Every projection of *home*, by name; also those that only its file knows.

    Raises:
        ProjectionError: The file cannot be read.
        LogError: The log cannot be read.
    """
    with HomeLog.open(home) as source:
        head = source.log.state().head if source.log is not None else 0
    path = home.projections_path
    there = {each.name: each for each in checkpoints(path)}
    building = {each.name: each.position for each in checkpoints(next_to(path))}
    wanted = {each.name: each.version for each in PROJECTIONS}
    return [
        _row(home, name, there.get(name), head, wanted.get(name, 0), building.get(name))
        for name in sorted(there.keys() | wanted.keys())
    ]


def verified_projections(home: Home, name: str = "") -> list[ReplayedProjection]:
    """Projections folded again in a scratch folder, beside those of *home*; all without a *name*.

    Raises:
        NotFoundError: There is no projection of that name.
        ProjectionError: One of them cannot be read, or there is no room for the other.
    """
    meant = _meant(name)
    with HomeLog.open(home) as source:
        return list(replay_projections(source, meant))


def rebuild_projections(home: Home, name: str = "") -> RebuiltDocument:
    """Fold projections of *home* again from its log; all without a *name*.

    Readers see the tables of before until the new ones are complete, and so they do after a kill.

    Raises:
        NotFoundError: There is no projection of that name.
        RefusedError: Another process keeps them up to date.
        ProjectionError: The file cannot be written, or a record cannot be read.
    """
    meant = _meant(name)
    home.require_trust()
    with HomeLog.open(home) as source:
        if source.log is None:
            return RebuiltDocument([], 0)
        try:
            runner = Runner.open(home.projections_path, PROJECTIONS)
        except ProjectionsHeldError as error:
            raise RefusedError(_held(error)) from None
        try:
            rebuilt = runner.rebuild(source.log, [each.name for each in meant])
            return RebuiltDocument(rebuilt, runner.advance(source.log))
        finally:
            runner.close()


def _row(
    home: Home, name: str, there: Checkpoint | None, head: int, wanted: int, building: int | None
) -> ProjectionRow:
    row = ProjectionRow(
        name=name, version=0, wanted=wanted, position=0, head=head, rows=0, size_bytes=0,
        building=building,
    )  # fmt: skip
    if there is not None:
        with snapshot(home.projections_path, name) as view:
            row.version, row.position = view.version, view.position
            row.rows, row.size_bytes = (
                rows_in(view.connection, name),
                bytes_of(view.connection, name),
            )
    return row


def _meant(name: str) -> Sequence[Projection]:
    if not name:
        return PROJECTIONS
    found = [each for each in PROJECTIONS if each.name == name]
    if not found:
        names = ", ".join(sorted(each.name for each in PROJECTIONS))
        raise NotFoundError("projection", name, f"does not exist: there are {names}")
    return found


def _held(error: ProjectionsHeldError) -> str:
    holder = "another process" if error.pid is None else f"process {error.pid}"
    return (
        f"{holder} keeps the projections up to date: end it (`cortex down` ends a hub), then "
        "repeat this; `cortex projections verify` works meanwhile"
    )
