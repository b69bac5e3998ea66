"""Follows an execution while it runs, and hands what happens to whoever shows it."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import msgspec

from cortex.bus import Client, Event, Feed, Recorded, TailLostError
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionDeferred,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResumed,
    ModelDelta,
    ModelInvoke,
    StepDelegated,
    StepUnclaimed,
)
from cortex.runtime.executions import ITEMS, PARENT_PAUSES, AskedSoFar
from cortex.runtime.executions.view import LiveState, OpenQuestions, Teller
from cortex.runtime.sessions import Ailments

from ..errors import UnwritableError
from ..screen import Screen, is_terminal
from .keyboard import Interrupts
from .live import LiveView

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
QUIET = frozenset(("green", "cyan", "dim", ""))  # lines about what is in order
LEAD = 9  # columns of the leading word
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
    ExecutionRefused,  # what was asked for is not done: it stands where it stood
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
    """Follows one execution and its children, and shows on standard error what it sees."""

    def __init__(
        self,
        client: Client,
        screen: Screen | None,
        execution_id: str,
        ailments: Ailments,
        interrupts: Interrupts,
        tally: LiveState | None = None,
        said: Callable[[ExecutionDeferred | StepUnclaimed], None] = lambda _: None,
    ) -> None:
        self._missing = said  # is called when it waits for what its process or a step lacks
        self._untaken: set[str] = set()  # actions that nobody carried out, of which it was said
        self.execution_id = execution_id
        self._client = client
        self._screen = screen
        self._ailments = ailments
        self._interrupts = interrupts
        self._followed = {execution_id: ""}  # ids, and how far their lines are set in
        self._items: set[str] = set()  # those of them that carry out items, or run in such
        # Of those, where so many run that each says only what is wrong.
        self._of_many: set[str] = set()
        self._waiting: dict[str, Stopped] = {}  # items that wait for a person, by execution
        self._asked: dict[str, AskedSoFar] = {}  # by stream
        self._questions = OpenQuestions()
        self._teller = Teller()
        self._tally = tally or LiveState()
        self._shown = 0  # position up to which it was shown
        self._own = 0  # position of the request whose outcome is followed; 0 for none
        self._topics: dict[int, str] = {}  # of requests that others made meanwhile, by position
        self._live = LiveView() if screen is not None and is_terminal(sys.stderr) else None

    def until_stopped(
        self, after: int | None = None, patience_s: float | None = None
    ) -> Stopped | None:
        """Follow from position *after* until it stops; None when *patience_s* is over before.

        Args:
            after: None for the last event that was shown: what came since then is shown, too.
            patience_s: None for as long as it takes.

        Raises:
            UnwritableError: Nothing can be recorded any more.
            KeyboardInterrupt: Ctrl-C was pressed.
            Terminated: The command was told to end by SIGTERM.
        """
        self._own = 0 if after is None else after + 1
        self._shown = after = self._shown if after is None else after
        feed = self._client.follow(*((family, None) for family in FAMILIES), after=after)
        shown: AbstractContextManager[object] = self._live or nullcontext()
        try:
            with shown:
                deadline = None if patience_s is None else time.monotonic() + patience_s
                while deadline is None or time.monotonic() < deadline:
                    self._interrupts.check()
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
            if self._screen is not None:
                said = f"the log has lost its events after position {lost.common}: following again"
                self._screen.note(said, "yellow")
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
                continue  # who says it was not asked
            if isinstance(event, StepDelegated):
                margin = self._followed[record.correlation] + "  "
                self._followed.setdefault(event.child, margin)
                if event.item or record.correlation in self._items:
                    self._items.add(event.child)
                    many = self._teller.is_many(event.execution_id, event.step_id)
                    if many or record.correlation in self._of_many:
                        self._of_many.add(event.child)
            self._questions.fold(event)
            self._show(record, event)
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
            return None  # the other items go on; when none can, their execution pauses
        self._waiting.pop(about, None)
        if isinstance(event, ExecutionPaused) and own and event.reason in (ITEMS, "approval"):
            for first in self._waiting:
                stopped = self._waiting.pop(first)
                return Stopped(stopped.event, record.position, stopped.asked)
        return Stopped(event, record.position, asked) if own or waits else None

    def is_item(self, execution_id: str) -> bool:
        """Whether it carries out an item of a step of what is followed."""
        return execution_id in self._items

    def _show(self, record: Recorded, event: Event) -> None:
        if self._screen is None:
            return
        margin = self._followed[record.correlation or self.execution_id]
        of_many = record.correlation in self._of_many
        finished = self._tally.fold(event, time.monotonic())
        if self._live is None:
            told = None if isinstance(event, ModelDelta) else self._teller.tell(record, event)
            if told and not (of_many and told.style in QUIET):
                lead = f"{margin}{told.lead:<{LEAD}}" if told.text else f"{margin}{told.lead}"
                self._screen.note(told.text.replace("\n", " "), told.style, lead=lead)
            return
        for line in finished if not of_many else ():
            self._live.said(line, margin)
        told = self._teller.tell(record, event) if record.position else None
        if told and not (of_many and told.style in QUIET):
            self._live.line(told, margin)
        self._live.update(self._tally)
