"""Checks cursors, work and deadlines of a log against its events, which they must not contradict.

The events determine some of that. A component's own events name the event that each answers, so an
ordered cursor is never before the last of those. An unanswered request is work of each subscription
that sees it. No work and no cursor is after the end. The rest (deadlines, receipts,
attempts, a cursor's progress over events without results) is in no event.
"""

from collections.abc import Iterator

import msgspec

from cortex.bus import Draft, Filter, Recorded, readable_body, root_of
from cortex.bus.events import (
    ComponentFailed,
    ContextCompile,
    GateEvaluate,
    ModelInvoke,
    StepExecute,
    ToolCall,
)

from .agent_work import takes_back
from .moving import Row, Tables, name_of

KINDS = ("ordered", "work")
ORDERED, WORK = KINDS
# Requests between components, which an event of the same family answers.
REQUESTS = frozenset(
    each.topic_name() for each in (StepExecute, ModelInvoke, ToolCall, GateEvaluate, ContextCompile)
)
PARKED = ComponentFailed.topic_name()
BESIDE = "effect."  # the family of events that are recorded before their cause is finished
UNCLAIMED = ".unclaimed"  # suffix of topics that report a waiting request


class _Asked(msgspec.Struct, frozen=True):
    """The component that a request names, if it names one, and the client that announced it."""

    component: str = ""
    host: str = ""


_READ_ASKED = msgspec.msgpack.Decoder(_Asked).decode
_READ_PAIRS = msgspec.json.Decoder(tuple[tuple[str, str | None], ...]).decode
_READ_DRAFT = msgspec.msgpack.Decoder(Draft).decode


class Mending(msgspec.Struct, frozen=True):
    """One row that the events contradict, and its correction."""

    table: str
    row: str
    problem: str
    becomes: str


class Facts:
    """A fold over all events of a log."""

    def __init__(self) -> None:
        self.head = 0
        self.answered: dict[str, int] = {}  # by source: the last event that it answered
        self.parked: set[tuple[str, int]] = set()  # component and parked event
        self.open: dict[int, Recorded] = {}  # requests without an answer or withdrawal
        self._streams: dict[str, set[int]] = {}  # positions of those, by stream

    def take(self, record: Recorded) -> None:
        """Add the next event."""
        self.head = record.position
        cause = record.causation
        if cause:
            if not record.topic.startswith(BESIDE):
                self.answered[record.source] = max(cause, self.answered.get(record.source, 0))
            if record.topic == PARKED:
                self.parked.add((record.source, cause))
            asked = self.open.get(cause)
            if asked is not None and _answers(record, asked):
                self._close(asked)
        for position in tuple(self._streams.get(record.stream, ())):
            if takes_back(record, self.open[position]):
                self._close(self.open[position])
        if record.topic in REQUESTS:
            self.open[record.position] = record
            self._streams.setdefault(record.stream, set()).add(record.position)

    def _close(self, asked: Recorded) -> None:
        del self.open[asked.position]
        self._streams[asked.stream].discard(asked.position)


def fitted(tables: Tables, facts: Facts) -> tuple[Tables, list[Mending]]:
    """*tables* corrected by the events, and the corrections; pure."""
    made = {table: dict(rows) for table, rows in tables.items()}
    found = [
        *_subscriptions(made["subscriptions"], facts),
        *_unfit_work(made, facts),
        *_lost_work(made, facts),
        *_undecodable(made),
    ]
    for table, rows in made.items():
        made[table] = dict(sorted(rows.items()))
    return made, found


def _subscriptions(rows: dict[Row, Row], facts: Facts) -> Iterator[Mending]:
    for key, row in tuple(rows.items()):
        name, kind, text, cursor, attempts, created = row
        problem = _no_subscription(kind, text)
        if problem:
            del rows[key]
            yield Mending("subscriptions", name, problem, "removed; its owner creates it again")
            continue
        born = min(max(created, 0), facts.head)
        at, problem = _cursor(kind, cursor, born, name, facts)
        if not problem and born != created:
            problem = f"it was made at position {created}, and the log has {facts.head} events"
        if problem:
            rows[key] = (name, kind, text, at, 0 if at != cursor else attempts, born)
            yield Mending("subscriptions", name, problem, f"at position {at}")


def _cursor(kind: str, cursor: int, born: int, name: str, facts: Facts) -> tuple[int, str]:
    """The correct cursor of a subscription, and the problem if it is another."""
    answered = min(facts.answered.get(name, 0), facts.head) if kind == ORDERED else 0
    if not 0 <= cursor <= facts.head:
        at = max(answered, born) if kind == ORDERED else born
        return at, f"it is at position {cursor}, and the log has {facts.head} events"
    if cursor < answered:
        return answered, f"it is at position {cursor}, and has answered to that at {answered}"
    return cursor, ""


def _unfit_work(made: Tables, facts: Facts) -> Iterator[Mending]:
    kinds = {key[0]: row[1] for key, row in made["subscriptions"].items()}
    for key in tuple(made["work"]):
        name, position = key
        if kinds.get(name) != WORK:
            problem = f"{name} is not a subscription for work"
        elif not 1 <= position <= facts.head:
            problem = f"the log has {facts.head} events"
        else:
            continue
        del made["work"][key]
        yield Mending("work", name_of("work", key), problem, "removed")


def _lost_work(made: Tables, facts: Facts) -> Iterator[Mending]:
    for row in tuple(made["subscriptions"].values()):
        name, kind, text, routed, _, created = row
        if kind != WORK:
            continue
        seen = Filter(_READ_PAIRS(text))
        # A subscription that lags continues from its own position in the log.
        last = routed if routed > created else facts.head
        for position, record in facts.open.items():
            key = (name, position)
            if (
                created < position <= last
                and key not in made["work"]
                and key not in facts.parked
                and seen.matches(record.topic, record.key)
            ):
                made["work"][key] = (name, position, 0, 0, 0, 0)
                problem = f"the {record.topic} there has no answer"
                yield Mending("work", name_of("work", key), problem, "waiting again")


def _undecodable(made: Tables) -> Iterator[Mending]:
    for key, row in tuple(made["deadlines"].items()):
        try:
            _READ_DRAFT(row[2])
        except msgspec.MsgspecError as error:
            del made["deadlines"][key]
            yield Mending("deadlines", key[0], f"its event cannot be decoded ({error})", "removed")


def _no_subscription(kind: str, text: str) -> str:
    if kind not in KINDS:
        return f"it is of the unknown kind {kind!r}"
    try:
        _READ_PAIRS(text)
    except msgspec.MsgspecError as error:
        return f"what it sees cannot be decoded ({error})"
    return ""


def _answers(record: Recorded, asked: Recorded) -> bool:
    """Whether *record* answers *asked*, from a component that was asked.

    A request that names no component (an older one, or one for the context compiler, whose name no
    client may use) may be answered by any.
    """
    family = asked.topic.partition(".")[0] + "."
    if not record.topic.startswith(family) or record.topic.endswith(UNCLAIMED):
        return False
    named = _READ_ASKED(readable_body(asked))
    return not named.component or not {record.source, root_of(record.source)}.isdisjoint(
        (named.component, named.host or named.component)
    )
