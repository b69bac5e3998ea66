"""Memory in memory: a decider with a log of its own, and the projection of that log."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cortex.bus import Draft, Event, Recorded
from cortex.bus.events import (
    VOCABULARY,
    ContextCompiled,
    MemoryRecord,
    MemoryRecorded,
    PackageUse,
)
from cortex.runtime.memory import (
    ENGINE,
    Decider,
    MemoryProjection,
    MemoryState,
    MemoryView,
    PastNodes,
    RequestRecord,
)

DAY_NS = 86_400 * 10**9
T0_NS = 1_700_000_000 * 10**9


class MemoryWorld:
    """Requests go in, facts are recorded; the projection is folded when a view is asked for."""

    def __init__(self) -> None:
        self.records: list[Recorded] = []
        self.since_ns = T0_NS  # each event comes a day after the one before
        self.decider = Decider(MemoryState(), past=PastNodes(self.stream))

    def stream(self, name: str) -> Iterator[Recorded]:
        """The events of one stream."""
        return (record for record in self.records if record.stream == name)

    def add(self, event: Event, source: str = ENGINE, subject: str | None = None) -> int:
        """Record *event*; its position."""
        draft, position = Draft.of(event), len(self.records) + 1
        self.records.append(
            Recorded(
                1,
                position,
                draft.stream,
                1 + sum(record.stream == draft.stream for record in self.records),
                position.to_bytes(16, "big"),
                self.since_ns + position * DAY_NS,
                draft.topic,
                draft.schema,
                draft.correlation,
                None,
                source,
                draft.key,
                subject,
                draft.body,
            )
        )
        return position

    def ask(self, request: Event, subject: str = "", by: str = "ada") -> tuple[Event, ...]:
        """Decide about *request*, and record what follows."""
        position = self.add(request, by, subject or None)
        time_ns = self.since_ns + position * DAY_NS
        facts = self.decider.decide(request, RequestRecord(by, time_ns, f"m{position:04}", subject))
        for fact in facts:  # each comes back from the log, as to a component
            whose = subject
            if isinstance(fact, MemoryRecorded) and fact.consolidation_id:
                whose = fact.subject
            at = self.add(fact, subject=whose or None)
            self.decider.state.apply(fact, whose, at)
        return facts

    def record(self, content: str, subject: str = "", **fields: Any) -> str:
        """Record a node; its id."""
        given: dict[str, Any] = {"kind": "observation", "origin": "person", **fields}
        facts = self.ask(MemoryRecord(content=content, **given), subject)
        assert isinstance(facts[0], MemoryRecorded), facts
        return facts[0].node_id

    def database(self, spans: Sequence[int] = (), upto: int | None = None) -> sqlite3.Connection:
        """The projection of the first *upto* records, folded in spans that end at *spans*."""
        connection = sqlite3.connect(":memory:")
        projection = MemoryProjection()
        for table in projection.tables:
            connection.execute(table)
        records = self.records[:upto]
        ends = [end for end in sorted({*spans, len(records)}) if end <= len(records)]
        start = 0
        for end in ends:
            changes = projection.begin()
            changes.apply(records[start:end])
            changes.flush(connection)
            start = end
        return connection

    def view(self, at: int | None = None, upto: int | None = None) -> MemoryView:
        """Memory at the end, or at position *at*."""
        head = len(self.records) if upto is None else upto
        past = PastNodes(self.stream)
        return MemoryView(self.database(upto=upto), head if at is None else at, past)


def prompt_with(
    *memories: str, execution: str = "e1", packages: tuple[PackageUse, ...] = ()
) -> ContextCompiled:
    """A prompt that holds these memories and packages."""
    return ContextCompiled(
        execution_id=execution,
        step_id="fix",
        prompt="p",
        manifest="m",
        model="local",
        tokens=1,
        sections={},
        window=1,
        headroom=1,
        memories=memories,
        packages=packages,
    )


def typed(records: Iterable[Recorded]) -> list[Event]:
    """The events of records."""
    return [VOCABULARY.read(record) for record in records]
