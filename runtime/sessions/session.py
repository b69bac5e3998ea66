"""A session on a home: on its running hub, or on a runtime that lasts as long as the session."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TypeAlias, TypeVar

from cortex.bus import Client, Event, HubAwayError, Log, steady_s
from cortex.bus.events import (
    ExecutionDeferred,
    ExecutionPaused,
    ExecutionResume,
    StepUnclaimed,
    TriggerMatched,
    TriggerReceived,
    TriggerUnmatched,
)
from cortex.runtime.context import prompt_text
from cortex.runtime.executions import GOAL, ITEMS
from cortex.runtime.executions.view import (
    BREAKPOINT,
    HOW_LONG,
    ExecutionDocument,
    History,
    LiveState,
    asked_of_person,
    hints_of,
    outermost,
    rows_of,
    waiting_child,
)
from cortex.runtime.kernel import Home, RefusedError

from . import leaving
from .ailments import Ailments, listen
from .errors import HubGoneError, LeftOpenError, Terminated, UnmatchedError
from .front import EDIT, STEP, Front
from .inputs import mask_of
from .listing import standing_document
from .open_home import OpenHome, opened_home
from .progress import Progress, Stopped
from .prompt_edits import prompt_edit
from .sources.submitter import Submitter
from .untaken import missing_line, remedies

Fact = TypeVar("Fact", bound=Event)
Other = TypeVar("Other", bound=Event)
Answer: TypeAlias = tuple[Fact | Other, int]

START_S = 30.0
BRIEF_S = 30.0  # patience of a command that records one thing: others like it end soon
HEARD_S = 0.1  # Ctrl-C is heard at least this often


class Ending(StrEnum):
    """How following an execution ended."""

    COMPLETED = "completed"
    FAILED = "failed"  # it failed, halted or was cancelled; what was asked for was not done
    WAITING = "waiting"  # for a person
    INTERRUPTED = "interrupted"  # by Ctrl-C, or a question was left open
    TERMINATED = "terminated"  # by SIGTERM


def ending_of(document: ExecutionDocument) -> Ending:
    """The `Ending` for an execution in this state."""
    if document.person or document.status == "paused":
        return Ending.WAITING
    return Ending.COMPLETED if document.status == "completed" else Ending.FAILED


class Session:
    """A hub, spoken to through one client. `open` makes one."""

    def __init__(self, home: Home, opened: OpenHome, front: Front, ailments: Ailments) -> None:
        self.home = home
        self.client: Client = opened.client
        self.log: Log = opened.log
        self.opened = opened
        self.history = History(home, opened.log, opened.blobs, opened.client.vocabulary)
        self.front = front
        self.submitter = Submitter(
            home, self.client, self.history, lambda text: front.note(text, "yellow")
        )
        self._ailments = ailments
        self.wait_s = opened.wait_s  # of a request, for what its process lacks
        self.seen = opened.seen  # log position up to which the user can have read

    @classmethod
    @contextmanager
    def open(
        cls, home: Home, front: Front | None = None, *, patience_s: float = 0.0
    ) -> "Iterator[Session]":
        """Work on *home*, made where it is missing, until the block is left.

        Args:
            home: Where.
            front: Shows what happens; nobody unless given.
            patience_s: How long to wait for a process that runs a private runtime on it.

        Raises:
            HomeError: The home cannot be used.
            HomeHeldError: Another process runs a runtime on it, and did not end in time.
            HubSilentError: Its hub is up and does not answer.
            LogError: Its log cannot be used.
        """
        ailments = listen()
        with opened_home(home, patience_s) as opened:
            yield cls(home, opened, front or Front(), ailments)

    def known(self, prefix: str) -> str:
        """The execution whose id starts with *prefix*.

        Raises:
            NotFoundError: None or several match.
        """
        return self.history.execution_id(prefix)

    def publish(self, *events: Event, subject: str = "") -> int:
        """Record *events* together; the position of the last one comes back.

        With *subject*, they are about this person, and encrypted.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed before; nothing is recorded.
            Terminated: The same, by SIGTERM.
        """
        self.front.check()
        return self.client.publish(*events, subject=subject or None)

    def check(self) -> None:
        """Raise like `publish` if the session has to end."""
        self.front.check()

    def document(self, execution_id: str) -> ExecutionDocument:
        """The state of the execution."""
        return standing_document(self.history, execution_id)

    def match(self, event: TriggerReceived) -> tuple[TriggerMatched, int]:
        """Record a trigger; the process chosen for it comes back, and the position of that.

        Raises:
            UnmatchedError: None was chosen.
            RefusedError: Nobody chose in time.
        """
        answer, position = self.answer_to(event, TriggerMatched, TriggerUnmatched)
        if isinstance(answer, TriggerUnmatched):
            raise UnmatchedError(answer.reason)
        return answer, position - 1

    def answer_to(
        self,
        event: Event,
        fact: type[Fact],
        other: type[Other],
        subject: str = "",
        wait_s: float = START_S,
    ) -> Answer[Fact, Other]:
        """Record a request; the *fact* or *other* that answers it, and its position.

        Args:
            event: The request.
            fact: One kind of answer.
            other: Another kind.
            subject: Whom the request is about, and so what answers it; "" for nobody.
            wait_s: How long to wait for it.

        Raises:
            RefusedError: Nothing answered in time.
        """
        family = event.topic_name().partition(".")[0]
        feed = self.client.follow((f"{family}.*", None))
        try:
            asked = self.publish(event, subject=subject)
            deadline = steady_s() + wait_s
            while steady_s() < deadline:
                self.check()
                for record in feed.next(HEARD_S):
                    answer = self.client.vocabulary.read(record)
                    if record.causation == asked and isinstance(answer, (fact, other)):
                        return answer, record.position
        finally:
            feed.close()
        topic = event.topic_name()
        raise RefusedError(f"nothing answered {topic} within {wait_s:g} s: try again")

    def run(self, execution_id: str, *events: Event) -> Ending:
        """Record *events*, follow the execution to its stop, and show it."""
        return self.follow(execution_id, self.publish(*events) - 1)

    def follow(self, execution_id: str, after: int, answer: str = "") -> Ending:
        """Follow an execution from position *after*; as `run`.

        Args:
            execution_id: What is followed.
            after: A position before what is to be seen of it.
            answer: To what is asked next in a model's place.

        Raises:
            HubGoneError: The hub went away and did not come back.
            UnwritableError: Nothing can be recorded any more.
        """
        try:
            ending = self._followed(execution_id, after, answer)
            if ending is not Ending.INTERRUPTED and self.opened.embedded:
                self._see_parent_to_its_stop(execution_id)
            return ending
        except HubAwayError as error:
            if self.history.execution(execution_id).status not in ("requested", "running"):
                return self._show(execution_id)  # it stopped without a recorded event
            raise HubGoneError(execution_id, error.url, error.problem) from error
        except Terminated:
            leaving.terminated(self, execution_id)
            return Ending.TERMINATED

    def _followed(self, execution_id: str, after: int, given: str) -> Ending:
        progress = self._progress(execution_id)
        stopped: Stopped | None = None
        try:
            stopped = progress.until_stopped(after)
            while stopped and (answer := self._answer(stopped, given)) is not None:
                given = given if stopped.asked is None else ""
                stopped = progress.until_stopped(self.publish(answer) - 1)
        except LeftOpenError:
            leaving.unanswered(self, stopped.event.execution_id if stopped else execution_id)
            return Ending.INTERRUPTED
        except KeyboardInterrupt:
            over = leaving.interrupted(self, progress)
            return self.shown(execution_id) if over else Ending.INTERRUPTED
        about = stopped.event.execution_id if stopped else execution_id
        # A child may have the question; of items there may be several that have one.
        return self.shown(execution_id if progress.is_item(about) else about)

    def _answer(self, stopped: Stopped, given: str) -> Event | None:
        """The request that continues a stopped execution; None if it stays stopped."""
        event, seen = stopped.event, stopped.position
        if stopped.asked is not None:
            prompt = prompt_text(self.history.blobs.get(stopped.asked.prompt)) if not given else ""
            answer = given or self.front.model_answer(stopped.asked, prompt)
            id_ = stopped.asked.execution_id
            return ExecutionResume(execution_id=id_, answer=answer, seen=seen) if answer else None
        if not isinstance(event, ExecutionPaused):
            return None
        if event.reason == leaving.CTRL_C:
            return ExecutionResume(execution_id=event.execution_id, seen=seen)
        if event.reason == BREAKPOINT:
            return self._at_breakpoint(event.execution_id, seen)
        # What is done next towards a goal is no yes or no, nor is what became of an effect; where
        # several items wait, each waits for an answer of its own.
        document = self.document(event.execution_id)
        if event.reason in (GOAL, ITEMS) or not event.question or document.effects:
            return None
        answer = self.front.gate_answer(document, event.question)
        if not answer:
            return None
        # A log of an older version does not say which gate asks; the execution knows.
        gate = event.gate or document.gate
        return ExecutionResume(execution_id=event.execution_id, answer=answer, gate=gate, seen=seen)

    def _at_breakpoint(self, execution_id: str, seen: int) -> Event | None:
        """What a person wants at a breakpoint; None to leave it paused."""
        from cortex.runtime.executions.view import debug_of  # not needed by most commands

        while True:
            said = self.front.breakpoint_answer(debug_of(self.history, execution_id))
            if said != EDIT:
                break
            try:
                change, mask = self.front.edited_prompt, mask_of(self.home)
                return prompt_edit(self.history, execution_id, change, mask, seen=seen)
            except RefusedError as error:
                self.front.note(str(error), "yellow")
        if not said:
            return None
        return ExecutionResume(execution_id=execution_id, stepping=said == STEP, seen=seen)

    def _see_parent_to_its_stop(self, execution_id: str) -> None:
        """Wait for the parent of *execution_id*: it continued, and would end with the session."""
        parent = outermost(self.history, execution_id)
        head = self.client.head
        if parent == execution_id or self.history.execution(parent).status != "running":
            return
        self.front.note(f"execution {parent}, which contains it, continues", "yellow")
        progress = self._progress(parent)
        try:
            progress.until_stopped(head)
        except KeyboardInterrupt:
            if leaving.interrupted(self, progress):
                self.shown(parent)
            return
        state = self.history.execution(parent)
        reason = f": {state.reason}" if state.reason and state.status != "completed" else ""
        self.front.note(f"execution {parent} is {state.status}{reason}", "yellow")
        if not state.over:
            self.front.note(hints_of(self.document(parent))[0], "cyan")

    def asked(self, execution_id: str) -> tuple[str, int | None]:
        """Which execution, that or a child of it, asks a person, and the position at which."""
        state = self.history.execution(execution_id)
        if inner := waiting_child(state):
            return self.asked(inner)
        rows = rows_of(self.history, execution_id)
        asked = asked_of_person(execution_id, (event for _, event in rows))
        places = [record.position for record, event in rows if event == asked]
        return execution_id, places[-1] if asked is not None else None

    def shown(self, execution_id: str) -> Ending:
        """Show the state of an execution."""
        head = self.client.head
        ending = self._show(execution_id)
        self.seen = head
        return ending

    def _show(self, execution_id: str) -> Ending:
        document = self.document(execution_id)
        self.front.show(document)
        return ending_of(document)

    def _progress(self, execution_id: str) -> Progress:
        """What follows the execution, and counts from what it took before."""
        state = self.history.execution(execution_id)
        most = state.started.max_cost if state.started else None
        view = self.front.progress(execution_id, LiveState(state.usage, state.cost, most))
        return Progress(
            self.client, execution_id, self._ailments, self.front, view, self._tell_missing
        )

    def _tell_missing(self, event: ExecutionDeferred | StepUnclaimed) -> None:
        """Say how what a request or a step waits for comes back."""
        if self.front.quiet:
            self.front.note(missing_line(event), "yellow")
        for way in remedies(self.history, event):
            self.front.note(way, "cyan")
        if isinstance(event, ExecutionDeferred):
            self.front.note(HOW_LONG)
