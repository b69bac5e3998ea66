"""Follows an execution while it runs, and passes its events to the front."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import msgspec

from cortex.bus import Client, Event, Feed, Recorded, TailLostError, steady_s
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionDeferred,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResumed,
    ModelInvoke,
    StepDelegated,
    StepUnclaimed,
)
from cortex.runtime.executions import ITEMS, PARENT_PAUSES, AskedSoFar
from cortex.runtime.executions.view import OpenQuestions

from .ailments import Ailments
from .errors import UnwritableError
from .front import Front, ProgressView

WAIT_S = 0.1  # Ctrl-C is heard at least this often
FAMILIES = (
    "execution.*",
    "effect.settled",
    "step.*",
    "gate.*",
    "knowledge.*",
    "context.*",
    "model.*",
    "tool.*",
)
Stop = (
    ExecutionCompleted
    | ExecutionFailed
    | ExecutionCancelled
    | ExecutionHalted
    | ExecutionPaused
    | ExecutionRefused
)
_STOPS = (
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionCancelled,
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRefused,  # the request was refused: the state is unchanged
)


def in_order(records: Sequence[Recorded]) -> Iterator[Recorded]:
    """Records as they are numbered, each after the ephemeral ones that came before it.

    A feed hands out what is in the log first, so that the end of an answer comes before its last
    words.
    """
    fleeting = deque(record for record in records if not record.position)
    for record in records:
        if not record.position:
            continue
        while fleeting and fleeting[0].time_ns <= record.time_ns:
            yield fleeting.popleft()
        yield record
    yield from fleeting


class Stopped(msgspec.Struct, frozen=True):
    """An execution came to a stop; it may be a child of the one that is followed."""

    event: Stop
    position: int
    asked: ModelInvoke | None = None  # what a person is to answer in a model's place


class Progress:
    """Follows one execution and its children."""

    def __init__(
        self,
        client: Client,
        execution_id: str,
        ailments: Ailments,
        front: Front,
        view: ProgressView | None = None,
        missing: Callable[[ExecutionDeferred | StepUnclaimed], None] = lambda _: None,
    ) -> None:
        self.execution_id = execution_id
        self._client, self._ailments = client, ailments
        self._front, self._view = front, view
        self._missing = missing  # is called when it waits for what its process or a step lacks
        self._untaken: set[str] = set()  # unclaimed actions that were already reported
        self._followed = {execution_id}
        self._items: set[str] = set()  # those of them that carry out items, or run in such
        self._waiting: dict[str, Stopped] = {}  # items that wait for a person, by execution
        self._asked: dict[str, AskedSoFar] = {}  # by stream
        self._questions = OpenQuestions()
        self._shown = 0  # position up to which it was shown
        self._own = 0  # position of the request whose outcome is followed; 0 for none
        self._topics: dict[int, str] = {}  # of requests that others made meanwhile, by position

    def until_stopped(
        self, after: int | None = None, patience_s: float | None = None
    ) -> Stopped | None:
        """Follow from position *after* until it stops; None if *patience_s* ends first.

        Args:
            after: None to continue after the last event that was shown.
            patience_s: None for as long as it takes.

        Raises:
            UnwritableError: Nothing can be recorded any more.
            KeyboardInterrupt: Ctrl-C was pressed.
            Terminated: SIGTERM came.
        """
        self._own = 0 if after is None else after + 1
        self._shown = after = self._shown if after is None else after
        feed = self._client.follow(*((family, None) for family in FAMILIES), after=after)
        shown: AbstractContextManager[object] = self._view or nullcontext()
        try:
            with shown:
                deadline = None if patience_s is None else steady_s() + patience_s
                while deadline is None or steady_s() < deadline:
                    self._front.check()
                    records = self._next(feed, after)
                    for stopped in self._stops(records):
                        return stopped
                    self._check(records)
                return None
        finally:
            feed.close()

    def _next(self, feed: Feed, after: int) -> list[Recorded]:
        """What has come.

        Raises:
            TailLostError: The log has lost what is followed from its very beginning.
        """
        try:
            return feed.next(WAIT_S)
        except TailLostError as lost:
            if lost.common <= after:
                raise
            if self._view is not None:
                said = f"the log has lost its events after position {lost.common}: following again"
                self._front.note(said, "yellow")
            return []

    def _check(self, records: list[Recorded]) -> None:
        if any(record.position for record in records):
            self._ailments.clear()
        elif problem := self._ailments.lasting():
            raise UnwritableError(self.execution_id, problem)

    def _stops(self, records: list[Recorded]) -> Iterator[Stopped]:
        for record in in_order(records):
            self._shown = max(self._shown, record.position)
            if record.correlation not in self._followed:
                continue
            event = self._client.vocabulary.read(record)
            if isinstance(event, ExecutionRefused) and self._is_of_others(record, event):
                continue
            if self._own and record.position != self._own:
                self._topics[record.position] = record.topic
            if not self._asked.setdefault(record.stream, AskedSoFar()).counts(event, record.source):
                continue  # its source was not asked
            if isinstance(event, StepDelegated):
                self._followed.add(event.child)
                if event.item or record.correlation in self._items:
                    self._items.add(event.child)
            self._questions.fold(event)
            if self._view is not None:
                self._view.show(record, event)
            if isinstance(event, ExecutionDeferred):
                self._missing(event)
            elif isinstance(event, StepUnclaimed) and event.action not in self._untaken:
                self._untaken.add(event.action)  # once, however many items wait for it
                self._missing(event)
            if stopped := self._stop(record, event):
                yield stopped

    def _is_of_others(self, record: Recorded, event: ExecutionRefused) -> bool:
        """Whether what is refused was asked for by another command, at the same moment."""
        return self._topics.get(record.causation or 0) == event.asked

    def _stop(self, record: Recorded, event: Event) -> Stopped | None:
        if isinstance(event, ExecutionResumed):
            self._waiting.pop(event.execution_id, None)
        if not isinstance(event, _STOPS):
            return None
        about = event.execution_id
        own = about == self.execution_id
        # A child that ends is its parent's business; one that waits needs a person.
        waits = isinstance(event, ExecutionPaused)
        asked = self._questions.of(about) if waits else None
        if isinstance(event, ExecutionPaused) and about in self._items:
            if not event.reason.startswith(PARENT_PAUSES):
                self._waiting[about] = Stopped(event, record.position, asked)
            return None  # the other items continue; when none can, their execution pauses
        self._waiting.pop(about, None)
        if isinstance(event, ExecutionPaused) and own and event.reason in (ITEMS, "approval"):
            for first in self._waiting:
                stopped = self._waiting.pop(first)
                return Stopped(stopped.event, record.position, stopped.asked)
        return Stopped(event, record.position, asked) if own or waits else None

    def is_item(self, execution_id: str) -> bool:
        """Whether it carries out an item of a step of what is followed."""
        return execution_id in self._items
