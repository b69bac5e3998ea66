"""What a client holds at the hub, for `cortex client show`: on disk, and while it is connected."""

from collections.abc import Iterator
from contextlib import closing

import msgspec

from cortex.bus import Vocabulary
from cortex.bus.events import VOCABULARY, RuntimeAnswer, RuntimeGet
from cortex.runtime.access import Holdings, holdings_of, root_of
from cortex.runtime.kernel import Home, many
from cortex.runtime.log import EventLog, LogMissingError
from cortex.runtime.serving import connected, found

from ..reading import iso, local, parse_time

PATIENCE_S = 10.0


class HeldSubscriptionRow(msgspec.Struct, kw_only=True):
    """A subscription of a client."""

    name: str
    kind: str  # ordered or work
    cursor: int
    lag: int  # events of the log after the cursor (ordered), or that wait (work)


class HeldDeadlineRow(msgspec.Struct, kw_only=True):
    """An event that a client left to be recorded at its time."""

    name: str
    topic: str
    at: str  # UTC
    source: str  # in whose name


class HeldAnnouncementRow(msgspec.Struct, kw_only=True):
    """What a client announced."""

    kind: str
    name: str
    component: str


class HeldLeaseRow(msgspec.Struct, kw_only=True):
    """Work that a client has taken."""

    subscription: str
    position: int


class HeldConnectionRow(msgspec.Struct, kw_only=True):
    """A program of a client that is connected."""

    name: str
    carrier: str
    address: str
    connections: int
    since: str  # UTC
    answers: list[str]  # topics of queries
    questions: int  # that wait for its answer
    blobs: int  # that it is putting
    blob_bytes: int


class HeldDocument(msgspec.Struct, kw_only=True):
    """All that a client has at the hub, and that goes when it is revoked."""

    subscriptions: list[HeldSubscriptionRow]
    deadlines: list[HeldDeadlineRow]
    announcements: list[HeldAnnouncementRow]
    leases: list[HeldLeaseRow]
    connections: list[HeldConnectionRow]


class _Present(msgspec.Struct):
    name: str
    carrier: str
    address: str
    connections: int
    since_ns: int
    leases: tuple[tuple[str, int], ...] = ()
    answers: tuple[str, ...] = ()
    questions: int = 0
    blobs: int = 0
    blob_bytes: int = 0


def held_by(home: Home, name: str) -> HeldDocument:
    """What the client *name* has at the hub of *home*, which is asked where it is up.

    Raises:
        LogError: The log cannot be read.
    """
    kept, present = _kept(home, name, VOCABULARY), _present(home, name)
    return HeldDocument(
        subscriptions=[
            HeldSubscriptionRow(**msgspec.structs.asdict(each)) for each in kept.subscriptions
        ],
        deadlines=[
            HeldDeadlineRow(name=d.name, topic=d.topic, at=iso(d.due_ns), source=d.source)
            for d in kept.deadlines
        ],
        announcements=[
            HeldAnnouncementRow(kind=e.kind, name=e.name, component=e.component)
            for e in kept.announced
        ],
        leases=[
            HeldLeaseRow(subscription=s, position=p) for each in present for s, p in each.leases
        ],
        connections=[_connection(each) for each in present],
    )


def lines_of(held: HeldDocument) -> Iterator[tuple[str, str]]:
    """What is shown of it: a word, and what belongs to it."""
    for subscription in held.subscriptions:
        behind = "waiting" if subscription.kind == "work" else "behind"
        at = f"{subscription.kind}, at {subscription.cursor:,}, {subscription.lag:,} {behind}"
        yield "subscribes", f"{subscription.name} ({at})"
    for deadline in held.deadlines:
        when = local(parse_time(deadline.at, 0))
        yield "deadline", f"{deadline.name}: {deadline.topic} at {when}, as {deadline.source}"
    for announced in held.announcements:
        yield "announced", f"{announced.kind} {announced.name}, of {announced.component}"
    for lease in held.leases:
        yield "works on", f"{lease.subscription} at {lease.position:,}"
    for each in held.connections:
        origin = f" from {each.address}" if each.address else ""
        yield (
            "connected",
            f"{each.name} over {each.carrier}{origin}, {many(each.connections, 'time')}",
        )
        if each.answers:
            yield "answers", f"{' '.join(each.answers)} ({each.questions} waiting)"
        if each.blobs:
            yield (
                "is putting",
                f"{many(each.blobs, 'blob')}, {many(each.blob_bytes, 'byte')} so far",
            )


def _kept(home: Home, name: str, vocabulary: Vocabulary) -> Holdings:
    try:
        with closing(EventLog.open(home.log_path, readonly=True)) as log:
            return holdings_of(name, log, vocabulary)
    except LogMissingError:
        return Holdings()


def _present(home: Home, name: str) -> list[_Present]:
    if not found(home):
        return []
    with connected(home, "show") as client:
        answer = client.ask(RuntimeGet(), PATIENCE_S)
    said = answer.clients if isinstance(answer, RuntimeAnswer) else ()
    present = [msgspec.convert(each, _Present) for each in said]
    return [each for each in present if root_of(each.name) == name]


def _connection(each: _Present) -> HeldConnectionRow:
    return HeldConnectionRow(
        name=each.name,
        carrier=each.carrier,
        address=each.address,
        connections=each.connections,
        since=iso(each.since_ns),
        answers=list(each.answers),
        questions=each.questions,
        blobs=each.blobs,
        blob_bytes=each.blob_bytes,
    )
