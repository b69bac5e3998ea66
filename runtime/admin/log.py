"""The log of a home: the state beside its events, and the archive of its oldest records."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec

from cortex.bus import last_before
from cortex.bus.events import LogAnswer, LogSegmentSealed
from cortex.runtime.kernel import Home, RefusedError, iso
from cortex.runtime.log import (
    EventLog,
    How,
    LogHeldError,
    LogMissingError,
    Segment,
    examine,
    mend,
    whole_tiles,
)
from cortex.runtime.projections import HomeLog
from cortex.runtime.serving import (
    HomeHeldError,
    MendedDocument,
    StateDocument,
    granting,
    mended_document,
    sealing,
    state_document,
)
from cortex.runtime.serving.doctor import live_differences

RESTORE = "cortex log state --restore   (restores the state in which the log was closed)"
ACCEPT = "cortex log state --accept   (keeps what is there now)"


class SegmentRow(msgspec.Struct):
    """One sealed segment."""

    first: int  # position of its first record
    last: int
    sealed: str  # UTC
    by: str  # "policy", or the program in which a person asked
    record_bytes: int
    file_bytes: int
    state: str  # "there", "missing", "damaged", or "unused": this log has the records itself
    file: str


class SealDocument(msgspec.Struct):
    """What was sealed, or would be."""

    segments: int
    events: int  # in them
    record_bytes: int
    file_bytes: int
    through: int  # every record up to here is in the archive
    dry_run: bool = False


def log_state(home: Home) -> StateDocument:
    """Whether cursors, work, deadlines and receipts of *home* fit its log.

    If a hub is up, its state is compared with the disk.

    Raises:
        LogError: The log cannot be read.
        HubSilentError: A hub is up, but does not answer.
    """
    if not home.log_path.exists():
        return StateDocument(fits=True)
    report = examine(home.log_path)
    return state_document(report, live_differences(home))


def mend_log(home: Home, how: How, by: str) -> MendedDocument:
    """Restore the state in which the log of *home* was closed, or keep what is there now.

    The events decide what they determine. The repair is recorded, with the program *by* which it
    was asked for.

    Raises:
        LogError: The log cannot be read.
        UntrustedHomeError: The home is not trusted.
        RefusedError: The state at the last close is not known.
        HomeHeldError: Another process has the log.
    """
    report = examine(home.log_path)
    home.require_trust()
    if report.fits:
        return MendedDocument(how="", done="")
    if how == "restored" and not report.copied:
        raise RefusedError(f"the state at the last close is not known: {ACCEPT}")
    try:
        done = mend(home.log_path, how, by)
    except LogHeldError as error:
        raise HomeHeldError(str(home.path), error.pid, error.held_for) from None
    with granting(home):
        pass  # its hub records what was done
    return mended_document(done)


def segment_rows(home: Home) -> list[SegmentRow]:
    """The sealed segments of *home* in order, as the log has recorded them.

    Raises:
        LogError: The log cannot be read.
    """
    try:
        with closing(EventLog.open(home.log_path, readonly=True)) as log:
            folder, used = log.archive.folder, {each.digest for each in log.archive.segments}
    except LogMissingError:
        return []
    rows: dict[int, SegmentRow] = {}
    with HomeLog.open(home) as past:
        for record in past.stream(LogSegmentSealed.belongs[0]):
            event = past.event(record)
            if isinstance(event, LogSegmentSealed):
                segment = Segment(event.first, event.last, event.digest, event.file_bytes)
                path = folder / segment.name
                rows[event.first] = SegmentRow(
                    first=event.first,
                    last=event.last,
                    sealed=iso(record.time_ns),
                    by=event.by,
                    record_bytes=event.record_bytes,
                    file_bytes=event.file_bytes,
                    state=_state(path, segment) if event.digest in used else "unused",
                    file=str(path),
                )
    return [rows[first] for first in sorted(rows)]


def _state(path: Path, segment: Segment) -> str:
    try:
        return "there" if path.stat().st_size == segment.file_bytes else "damaged"
    except OSError:
        return "missing"


def seal_log(
    home: Home,
    *,
    before_ns: int | None = None,
    through: int | None = None,
    dry_run: bool = False,
    told: Callable[[LogAnswer], None] = lambda _: None,
) -> SealDocument:
    """Seal the oldest records of *home*, segment after segment; a running hub does it if one is up.

    Args:
        home: Has to be trusted, unless nothing is sealed.
        before_ns: Only records from before this time, UTC.
        through: Only records up to this position.
        dry_run: Seal nothing.
        told: Is told of each segment.

    Raises:
        LogError: A record is damaged, or a file cannot be written.
        HomeHeldError: Another process runs a runtime on it without serving it.
    """
    home.check()
    if not dry_run:
        home.require_trust()
    done, last = _bounds(home, before_ns, through)
    made = SealDocument(0, 0, 0, 0, done, dry_run=dry_run)
    if dry_run:
        made.events = last - done
        return made
    if last == done:
        return made
    with sealing(home) as seal:
        while made.through < last and (answer := seal(last)).last:
            told(answer)
            made.segments += 1
            made.events += answer.last - answer.first + 1
            made.record_bytes += answer.record_bytes
            made.file_bytes += answer.file_bytes
            made.through = answer.through
    return made


def _bounds(home: Home, before_ns: int | None, through: int | None) -> tuple[int, int]:
    """Up to which position records are sealed, and up to which more can be."""
    try:
        with closing(EventLog.open(home.log_path, readonly=True)) as log:
            done, last = log.archive.through, max(0, log.head - 1)  # the newest one stays
            if before_ns is not None:
                last = min(last, last_before(log, log.head, before_ns))
            if through is not None:
                last = min(last, through)
            return done, max(done, whole_tiles(last))
    except LogMissingError:
        return 0, 0
