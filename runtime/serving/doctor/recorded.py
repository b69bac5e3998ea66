"""The checks of `cortex doctor` on a home's log: events, cursors, work, deadlines and blobs."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import Recorded, SystemClock, as_map, clock_behind_ns
from cortex.runtime.context import texts_of_inputs
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, duration, many
from cortex.runtime.log import (
    BlobError,
    BlobMissingError,
    Blobs,
    BlobStore,
    EventLog,
    LogMissingError,
)
from cortex.runtime.projections import HomeLog, ProjectionError, checkpoints
from cortex.runtime.subjects import PersonalBlobs, PersonalLog, SubjectKeys, pending_erasures

from .. import subscriptions_of
from .findings import Check

# the fields of an event that hold the digest of a blob, or a map of such digests
HOLDERS = {
    "context.compile": ("found",),
    "context.compiled": ("prompt", "manifest", "inputs"),
    "execution.paused": ("prompt",),
    "execution.started": ("linked",),
    "knowledge.indexed": ("blob",),
    "knowledge.requested": ("found",),
    "model.invoke": ("prompt",),
    "model.responded": ("prompt",),
    "process.compiled": ("linked", "source"),
    "process.submit": ("sources",),
}
ENDING = "_blob"  # suffix of fields with a digest in results of handlers and gates
HEX_CHARS = 64
UNTAKEN_S = 3_600.0  # how long work may wait before it is reported
RESTORE = "restore log.db, with the log.db-wal beside it, from a backup"


def recorded(home: Home, *, deep: bool) -> Iterator[Check]:
    """The checks of a home's log; with *deep* every event and every blob is read."""
    try:
        log = EventLog.open(home.log_path, readonly=True)
    except LogMissingError:
        yield Check("log", "ok", "nothing was recorded yet")
        return
    try:
        yield from _archive(log)  # first: without it the log cannot be verified
        yield _log(home, log, deep=deep)
        yield from _clock(log)
        yield from _waiting(log)
        yield from _erasures(home)
        if deep:
            yield _blobs(home, log)
        yield _projections(home, log)
    finally:
        log.close()


def blobs_of(record: Recorded) -> set[str]:
    """Digests of the blobs that an event names."""
    body = as_map(record)
    found = set(_ending(body))
    for field in HOLDERS.get(record.topic, ()):
        held = body.get(field)
        found.update(held.values() if isinstance(held, dict) else [held])
    return {digest for digest in found if isinstance(digest, str) and len(digest) == HEX_CHARS}


def _ending(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for inner in value:
            yield from _ending(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(key, str) and key.endswith(ENDING):
                yield inner if isinstance(inner, str) else None
            else:
                yield from _ending(inner)


def _log(home: Home, log: EventLog, *, deep: bool) -> Check:
    state = log.state()
    log.check_state()
    log.check_fit()
    head = log.verify() if deep else state.head
    size = sum(path.stat().st_size for path in home.path.glob("log.db*"))
    size += sum(segment.file_bytes for segment in log.archive.segments)
    how = "every one verified" if deep else "opened; --quick, so not verified"
    return Check("log", "ok", f"{many(head, 'event')}, {size / (1 << 20):,.1f} MiB, {how}")


def _archive(log: EventLog) -> Iterator[Check]:
    """Whether the files of the archive are there; none if nothing was sealed."""
    segments, folder = log.archive.segments, log.archive.folder
    wrong = [s for s in segments if not _is_there(folder / s.name, s.file_bytes)]
    if wrong:
        shown = many(len(wrong), "file is", "files are")
        yield Check(
            "archive",
            "fail",
            f"{shown} missing or cut off, the first with the events {wrong[0].first:,} to "
            f"{wrong[0].last:,}: {folder / wrong[0].name}",
            "restore it from a backup; all other events are readable",
        )
    elif segments:
        size = sum(segment.file_bytes for segment in segments) / (1 << 20)
        shown = f"{many(segments[-1].last, 'event')} in {many(len(segments), 'segment')}"
        yield Check("archive", "ok", f"{shown}, {size:,.1f} MiB")


def _is_there(path: Path, size_bytes: int) -> bool:
    try:
        return path.stat().st_size == size_bytes
    except OSError:
        return False


def _clock(log: EventLog) -> Iterator[Check]:
    """Whether this machine's clock is behind the newest event; none if it is not."""
    behind_ns = clock_behind_ns(log.state().time_ns, time.time_ns())
    if behind_ns:
        yield Check(
            "clock",
            "warn",
            f"the newest event is {duration(behind_ns / 1e9)} in the future of this clock",
            "set the clock if it is wrong; if it was wrong then, nothing has to be done: what is "
            "recorded stays ahead of it, and nothing waits for it to catch up",
        )


def _waiting(log: EventLog) -> Iterator[Check]:
    """Work that has waited for long and that no worker takes; none if there is none."""
    rows = subscriptions_of(log, log.state(), SystemClock().monotonic_ns())
    for row in rows:
        if row.oldest_s is not None and row.oldest_s > UNTAKEN_S and not row.held:
            shown = many(row.lag, "event waits", "events wait")
            yield Check(
                "work",
                "warn",
                f"{'' if row.exact else 'up to '}{shown} for {row.name}, the oldest for "
                f"{duration(row.oldest_s)}, and "
                "nobody takes them",
                "start what works them (`cortex up`, `cortex worker`); `cortex client revoke` "
                "takes a client's subscriptions away with its grants",
            )


def _erasures(home: Home) -> Iterator[Check]:
    """Erasures of subjects that were killed; none if there is none."""
    if left := pending_erasures(home.path):
        yield Check(
            "erasure",
            "fail",
            f"{many(len(left), 'erasure')} had begun and did not end",
            "repeat `cortex audit erase`: it finishes them first, whatever SUBJECT it is given",
        )


def blobs_named(history: HomeLog) -> dict[str, Recorded]:
    """Digests of the blobs that events name, each with the first event that names it."""
    named: dict[str, Recorded] = {}
    for record in history.read():
        for digest in (*blobs_of(record), *_texts(history.blobs, record)):
            named.setdefault(digest, record)
    return named


def _blobs(home: Home, log: EventLog) -> Check:
    """Whether every blob that an event names exists, and is unchanged."""
    store = BlobStore(home.blobs)
    keys = SubjectKeys.of_home(home.path)
    named = blobs_named(History(home, PersonalLog(log, keys), PersonalBlobs(store, keys)))
    lost: list[tuple[str, BlobError]] = []
    for digest in named:
        try:
            store.check(digest)
        except BlobError as error:
            lost.append((digest, error))
    if not lost:
        return Check("blobs", "ok", f"{len(named):,} named by events, every one read")
    missing = sum(isinstance(error, BlobMissingError) for _, error in lost)
    digest, reason = lost[0]
    first = named[digest]
    return Check(
        "blobs",
        "fail",
        f"of {len(named):,} named by events {missing} are missing and {len(lost) - missing} "
        f"damaged; the first, of {first.topic} at position {first.position}: {reason}",
        "restore blobs/ from a backup; what does not need these still works",
    )


def _texts(store: Blobs, record: Recorded) -> tuple[str, ...]:
    """Digests of the texts in the inputs of a prompt."""
    if record.topic != "context.compiled":
        return ()
    inputs = as_map(record).get("inputs")
    try:
        return texts_of_inputs(store.get(inputs)) if inputs else ()
    except (BlobError, msgspec.DecodeError):
        return ()  # that blob is reported separately


def _projections(home: Home, log: EventLog) -> Check:
    """Whether all projected events are in the log; if not, the log has lost its end."""
    try:
        found = checkpoints(home.projections_path)
    except ProjectionError as error:
        return Check("projections", "warn", str(error), f"delete {home.projections_path}")
    head = log.state().head
    ahead = max((each.position for each in found), default=0)
    anew = "; to continue with what is there, delete projections.db* and snapshots.db"
    if ahead > head:
        return Check(
            "projections",
            "fail",
            f"know {many(ahead, 'event')}, and the log ends after {head:,}: {ahead - head:,} are "
            "lost, log.db is older or was parted from its log.db-wal",
            RESTORE + anew,
        )
    for each in found:
        if each.position and log.leaf_hashes(each.position, each.position) != each.leaf:
            problem = f"{each.name} was made from another log: position {each.position} differs"
            return Check("projections", "fail", problem, RESTORE + anew)
    return Check("projections", "ok", f"{len(found)}, made from this log up to event {ahead:,}")
