"""A client's data at the hub, for `cortex client show`: on disk, and while it is connected."""

from collections.abc import Iterator, Sequence
from contextlib import closing

import msgspec

from cortex.bus import CortexError, Limits, Vocabulary
from cortex.bus.events import VOCABULARY, ClientLimited, GrantGiven, RuntimeAnswer, RuntimeGet
from cortex.runtime.access import Holdings, holdings_of, root_of
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home, iso, local, many, parse_time
from cortex.runtime.log import EventLog, LogMissingError
from cortex.runtime.projections import Selection

from .connecting import connected
from .note import found

PATIENCE_S = 10.0
NEAR = 0.8  # share of a limit


class HeldSubscriptionRow(msgspec.Struct, kw_only=True):
    """A subscription of a client."""

    name: str
    kind: str  # ordered or work
    cursor: int
    lag: int  # events of the log after the cursor (ordered), or waiting events (work)


class HeldDeadlineRow(msgspec.Struct, kw_only=True):
    """A deadline that a client has set."""

    name: str
    topic: str
    at: str  # UTC
    source: str  # the name it was set under


class HeldAnnouncementRow(msgspec.Struct, kw_only=True):
    """An announcement of a client."""

    kind: str
    name: str
    component: str


class HeldLeaseRow(msgspec.Struct, kw_only=True):
    """Work that a client has leased."""

    subscription: str
    position: int


class HeldConnectionRow(msgspec.Struct, kw_only=True):
    """A connected program of a client."""

    name: str
    carrier: str
    address: str
    connections: int
    since: str  # UTC
    answers: list[str]  # topics of queries
    questions: int  # questions that wait for its answer
    blobs: int  # unfinished blobs
    blob_bytes: int


class LimitRow(msgspec.Struct, kw_only=True):
    """How near a client is to one of its limits."""

    limit: str  # key of [limits]
    used: int | msgspec.UnsetType = msgspec.UNSET  # absent for a rate, which is not stored
    most: int  # 0 for no limit
    near: bool  # more than four fifths are used
    reached: int = 0  # how often it reached the limit
    last: str = ""  # UTC, the last time


class HeldDocument(msgspec.Struct, kw_only=True):
    """All data of a client at the hub; revoking the client removes it."""

    subscriptions: list[HeldSubscriptionRow]
    deadlines: list[HeldDeadlineRow]
    announcements: list[HeldAnnouncementRow]
    leases: list[HeldLeaseRow]
    connections: list[HeldConnectionRow]
    limits: list[LimitRow] = []


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


def held_by(home: Home, name: str, given: GrantGiven | None = None) -> HeldDocument:
    """The data of the client *name* at the hub of *home*; asks the hub if it is running.

    Args:
        home: The home.
        name: The client's.
        given: Its grant, for the comparison with its limits.

    Raises:
        LogError: The log cannot be read.
    """
    names = given.names if given is not None else ()
    kept, present = _kept(home, name, VOCABULARY, names), _present(home, name)
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
        limits=_limits(home, given, kept.counts) if given is not None else [],
    )


def _limits(home: Home, given: GrantGiven, counts: dict[str, int]) -> list[LimitRow]:
    try:
        configured = Config.load(home).limits
    except CortexError:
        configured = Limits()  # errors in the settings are reported where they are used
    limits: dict[str, int] = msgspec.structs.asdict(configured.but(given.limits))
    rows = {key: _row(key, counts[key], most) for key, most in limits.items() if key in counts}
    with History.open(home) as history:
        for record in history.select(Selection(topics=(ClientLimited.topic_name(),))):
            event = history.event(record)
            if isinstance(event, ClientLimited) and event.client == given.client:
                most = limits.get(event.what, event.limit)
                row = rows.setdefault(event.what, _row(event.what, msgspec.UNSET, most))
                row.reached, row.last = row.reached + event.times, iso(record.time_ns)
    return list(rows.values())


def _row(key: str, used: int | msgspec.UnsetType, most: int) -> LimitRow:
    near = used is not msgspec.UNSET and most > 0 and used > most * NEAR
    return LimitRow(limit=key, used=used, most=most, near=near)


def held_lines(held: HeldDocument) -> Iterator[tuple[str, str]]:
    """The lines to show: a word, and its details."""
    counted = [
        f"{each.limit} {each.used:,} of {_most(each.most)}"
        for each in held.limits
        if each.used is not msgspec.UNSET
    ]
    if counted:
        yield "uses", ", ".join(counted)
    for row in held.limits:
        if row.near:
            yield "near", f"{row.limit}: {row.used:,} of {_most(row.most)}"
        if row.reached:
            when = local(parse_time(row.last, 0))
            yield (
                "reached",
                f"{row.limit} of {_most(row.most)}: {many(row.reached, 'time')}, last at {when}",
            )
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


def _most(limit: int) -> str:
    return f"{limit:,}" if limit else "any number"


def _kept(home: Home, name: str, vocabulary: Vocabulary, names: Sequence[str]) -> Holdings:
    try:
        with closing(EventLog.open(home.log_path, readonly=True)) as log:
            return holdings_of(name, log, vocabulary, names)
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
