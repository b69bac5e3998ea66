"""What `cortex doctor` looks at in a home's log: its events, what moves with them, their blobs."""

import time
from collections.abc import Iterator
from typing import Any

import msgspec

from cortex.bus import Recorded, clock_behind_ns
from cortex.runtime.context import texts_of_inputs
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, duration, many
from cortex.runtime.log import (
    BlobError,
    BlobMissingError,
    BlobStore,
    EventLog,
    LogMissingError,
)
from cortex.runtime.projections import ProjectionError, checkpoints

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
ENDING = "_blob"  # of a field that holds one in what a handler or a gate gives
HEX_CHARS = 64
UNTAKEN_S = 3_600.0  # that work may wait before it is told of
RESTORE = "restore log.db, with the log.db-wal beside it, from a backup"


def recorded(home: Home, *, deep: bool) -> Iterator[Check]:
    """The checks of a home's log; with *deep* every event and every blob is read."""
    try:
        log = EventLog.open(home.log_path, readonly=True)
    except LogMissingError:
        yield Check("log", "ok", "nothing was recorded yet")
        return
    try:
        yield _log(home, log, deep=deep)
        yield from _clock(log)
        yield from _waiting(log)
        if deep:
            yield _blobs(home, log)
        yield _projections(home, log)
    finally:
        log.close()


def blobs_of(record: Recorded) -> set[str]:
    """Digests of the blobs that an event names."""
    body = msgspec.msgpack.decode(record.body)
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
    how = "every one verified" if deep else "opened; --quick, so not verified"
    return Check("log", "ok", f"{many(head, 'event')}, {size / (1 << 20):,.1f} MiB, {how}")


def _clock(log: EventLog) -> Iterator[Check]:
    """Whether this machine's clock is behind what was recorded; nothing where it is not."""
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
    """Work that has waited for long, and that nobody takes; nothing where there is none."""
    rows = subscriptions_of(log, log.state(), time.monotonic_ns())
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


def _blobs(home: Home, log: EventLog) -> Check:
    """Whether every blob that an event names is there, and is what it was."""
    named: dict[str, Recorded] = {}  # by digest, the first event that names it
    store = BlobStore(home.blobs)
    for record in History(home, log, store).read():
        for digest in (*blobs_of(record), *_texts(store, record)):
            named.setdefault(digest, record)
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


def _texts(store: BlobStore, record: Recorded) -> tuple[str, ...]:
    """Digests of the texts that a prompt was compiled from, which its inputs name."""
    if record.topic != "context.compiled":
        return ()
    inputs = msgspec.msgpack.decode(record.body).get("inputs")
    try:
        return texts_of_inputs(store.get(inputs)) if inputs else ()
    except (BlobError, msgspec.DecodeError):
        return ()  # that blob is told of by itself


def _projections(home: Home, log: EventLog) -> Check:
    """What was projected is in the log; if it is not, the log has lost its end."""
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
