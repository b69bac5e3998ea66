"""Runs the real deciders over events that are in memory, behind those of a home's log.

Nothing is recorded, nobody is asked, and nothing happens in the world: who made the scratch answers
what the deciders ask.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from cortex.bus import FORMAT, Draft, Event, Recorded
from cortex.bus.events import StepWake
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, RefusedError
from cortex.runtime.projections import Selection
from cortex.runtime.replay import Decider, RecordedBlobs, deciders_of

STEP_NS: Final = 1_000_000  # between two events
MOST_EVENTS: Final = 100_000  # more is no plan that anybody reads
_BACKOFFS: Final = ("retry", "model", "offers")

# What is said about an event: who says it, and what.
Answer = Callable[[Recorded, Event], Iterable[tuple[str, Event]]]


class Scratch:
    """The deciders of a home, and the events that they and *answer* say."""

    def __init__(self, history: History, config: Config, head: int, answer: Answer) -> None:
        self._history, self._answer = history, answer
        self._streams: defaultdict[str, list[Recorded]] = defaultdict(list)
        self._queue: deque[Recorded] = deque()
        self._due: dict[str, tuple[int, Draft]] = {}
        newest = history.at(head)
        self._head = head
        self._position, self._time_ns = head, newest.time_ns if newest is not None else 0
        self.blobs = RecordedBlobs(history.blobs)
        self._deciders = deciders_of(history, config, self.blobs, read=self.stream)

    def stream(self, name: str) -> Iterator[Recorded]:
        """The events of one stream, those in memory last."""
        yield from self._history.stream(name)
        yield from self._streams[name]

    def publish(self, event: Event, source: str, cause: int | None = None) -> None:
        """Say *event*, as *source*."""
        self._append(Draft.of(event, causation=cause), source)

    def run(self) -> None:
        """Decide until nothing is left to be decided about.

        Raises:
            RefusedError: A decider cannot handle an event, or it does not come to an end.
        """
        self._recall()
        try:
            while self._queue or self._fire():
                self._decide(self._queue.popleft())
        finally:
            for each in self._deciders:
                each.stop()

    def _recall(self) -> None:
        """Fold what the states of the deciders depend on."""
        topics = frozenset[str]().union(*(each.folds for each in self._deciders))
        for record in self._history.select(Selection(topics=tuple(sorted(topics)))):
            for each in self._deciders:
                if each.takes(record):
                    each.note(record)

    def _decide(self, record: Recorded) -> None:
        for each in self._deciders:
            if each.takes(record):
                self._commit(each, record)
        event = self._history.event(record)
        if event is not None:
            for source, said in self._answer(record, event):
                self.publish(said, source, record.position)

    def _commit(self, decider: Decider, record: Recorded) -> None:
        outcome = decider.decide(record)
        if outcome.failure is not None:
            raise RefusedError(f"{decider.name} cannot handle {record.topic}: {outcome.failure}")
        for draft in (draft for done in outcome.done for draft in done.events):
            self._append(draft, decider.name)
        for done in outcome.done:
            for name in done.forget:
                self._due.pop(name, None)
            self._due |= {due.name: (due.due_ns, due.draft) for due in done.due}

    def _fire(self) -> bool:
        """Let the next backoff be over; that a time runs out is not planned."""
        waits = {name: each for name, each in self._due.items() if self._is_backoff(each[1])}
        if not waits:
            return False
        name = min(waits, key=lambda each: waits[each][0])
        at_ns, draft = self._due.pop(name)
        self._time_ns = max(self._time_ns, at_ns)
        self._append(draft, "ProcessExecutionEngine")
        return True

    def _is_backoff(self, draft: Draft) -> bool:
        if draft.topic != StepWake.topic_name():
            return False
        event = self._history.event(self._recorded(draft, ""))
        return isinstance(event, StepWake) and event.what in _BACKOFFS

    def _append(self, draft: Draft, source: str) -> None:
        self._position += 1
        self._time_ns += STEP_NS
        record = self._recorded(draft, source)
        held = self._streams[draft.stream]
        before = held[-1].version if held else self._version(draft.stream)
        record = replace(record, version=before + 1)
        if self._position > self._head + MOST_EVENTS:
            raise RefusedError(f"the what-if has more than {MOST_EVENTS:,} events: it has no end")
        held.append(record)
        self._queue.append(record)

    def _version(self, stream: str) -> int:
        records = self._history.stream(stream)
        return records[-1].version if records else 0

    def _recorded(self, draft: Draft, source: str) -> Recorded:
        return Recorded(
            FORMAT, self._position, draft.stream, 0, self._position.to_bytes(16, "big"),
            self._time_ns, draft.topic, draft.schema, draft.correlation, draft.causation, source,
            draft.key, draft.subject, draft.body,
        )  # fmt: skip
