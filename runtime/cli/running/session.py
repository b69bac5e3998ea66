"""Where a command works: on the hub that is up, or on a runtime that lasts as long as it does."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
import msgspec

from cortex.bus import Client, Event, HubAwayError, Log
from cortex.bus.events import (
    ContextEdit,
    ExecutionCancel,
    ExecutionEdit,
    ExecutionFinish,
    ExecutionPause,
    ExecutionRefused,
    ExecutionResume,
    StepPropose,
    StepSettle,
    TriggerMatched,
    TriggerReceived,
    TriggerUnmatched,
)
from cortex.runtime.executions import GOAL, VERDICTS, Execution
from cortex.runtime.executions.view import (
    ExecutionDocument,
    History,
    LiveState,
    asked_of_person,
    document_of,
    open_gate,
    outermost,
    rows_of,
    waiting_child,
    worktree_of,
)
from cortex.runtime.kernel import Home, RefusedError
from cortex.runtime.projections import STREAM
from cortex.runtime.sessions import (
    Ailments,
    OpenHome,
    WaitingError,
    listen,
    opened_home,
    refuse_step,
    refuse_unanswered,
    refuse_unsettled,
)

from ..errors import HubGoneError, UnmatchedError
from ..exits import FAILED, INTERRUPTED, OK, WAITING, exit_code
from ..outcome import hints_of, show_outcome
from ..screen import Screen
from . import leaving
from .goals import goal_at_hand_of
from .keyboard import Interrupts, Terminated
from .people import has_person
from .progress import Progress, Stopped
from .questions import Questions
from .submitter import Submitter
from .untaken import say_what_is_missing, waiting_for

START_S = 30.0
HEARD_S = 0.1  # Ctrl-C is heard at least this often


STANDS_ANEW = "the start of this command stopped it as follows: resume once more to continue"


class Session:
    """A hub, spoken to through one client. `open` makes one."""

    def __init__(
        self,
        home: Home,
        opened: OpenHome,
        screen: Screen,
        ailments: Ailments,
        interrupts: Interrupts,
    ) -> None:
        self.home = home
        self.client: Client = opened.client
        self.log: Log = opened.log
        self.opened = opened
        self.history = History(home, opened.log, opened.blobs, opened.client.vocabulary)
        self.screen = screen
        self.submitter = Submitter(home, self.client, self.history, screen)
        self._ailments = ailments
        self.interrupts = interrupts
        self.quiet = False
        self.wait_s = opened.wait_s  # of a request, for what its process lacks
        self.seen = opened.seen  # position up to which whoever gave the command can have read
        self.questions = Questions(screen, opened.blobs, interrupts)

    @classmethod
    @contextmanager
    def open(cls, home: Home, screen: Screen) -> "Iterator[Session]":
        """Work on *home*, made where it is missing, until the block is left.

        Raises:
            HomeError: The home cannot be used.
            HomeHeldError: Another command runs a runtime on it.
            HubSilentError: Its hub is up and does not answer.
            LogError: Its log cannot be used.
        """
        ailments = listen()
        with Interrupts() as interrupts, opened_home(home) as opened:
            yield cls(home, opened, screen, ailments, interrupts)

    def known(self, prefix: str) -> str:
        """The execution whose id starts with *prefix*.

        Raises:
            NotFoundError: There is none, or several.
        """
        return self.history.execution_id(prefix)

    def publish(self, *events: Event) -> int:
        """Record *events* together; the position of the last one comes back.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed before; nothing is recorded.
            Terminated: The same, by SIGTERM.
        """
        self.interrupts.check()
        return self.client.publish(*events)

    def check(self) -> None:
        """Raise as `publish` does where the command was told to end."""
        self.interrupts.check()

    def document(self, execution_id: str) -> ExecutionDocument:
        """The execution as it stands."""
        state = self.history.execution(execution_id)
        document = document_of(state, rows_of(self.history, execution_id), self.history.blobs)
        document.waiting = waiting_for(self.history, execution_id)
        document.worktree = worktree_of(self.home, state.tree or execution_id)
        return document

    def match(self, event: TriggerReceived) -> tuple[TriggerMatched, int]:
        """Record a trigger; the process chosen for it comes back, and the position of that.

        Raises:
            UnmatchedError: None was chosen.
            RefusedError: Nobody chose in time.
        """
        feed = self.client.follow(("trigger.*", None))
        try:
            asked = self.publish(event)
            deadline = time.monotonic() + START_S
            while time.monotonic() < deadline:
                self.interrupts.check()
                for record in feed.next(HEARD_S):
                    answer = self.client.vocabulary.read(record)
                    if record.causation != asked:
                        continue
                    if isinstance(answer, TriggerUnmatched):
                        raise UnmatchedError(answer.reason)
                    if isinstance(answer, TriggerMatched):
                        return answer, record.position - 1
        finally:
            feed.close()
        raise RefusedError(f"no process was chosen within {START_S:g} s: try again")

    def run(self, execution_id: str, *events: Event) -> int:
        """Record *events*, follow the execution to its stop, show it; the exit code comes back."""
        return self.follow(execution_id, self.publish(*events) - 1)

    def follow(self, execution_id: str, after: int) -> int:
        """Follow an execution from position *after*; as `run`."""
        try:
            code = self._followed(execution_id, after)
            if code != INTERRUPTED and self.opened.embedded:
                self._see_parent_to_its_stop(execution_id)
            return code
        except HubAwayError as error:
            if self.history.execution(execution_id).status not in ("requested", "running"):
                return self.shown(execution_id)  # it came to its stop, and nobody could say so
            raise HubGoneError(execution_id, error.url, error.problem) from error
        except Terminated:
            return leaving.terminated(self, execution_id)

    def _followed(self, execution_id: str, after: int) -> int:
        progress = self._progress(execution_id)
        stopped: Stopped | None = None
        try:
            stopped = progress.until_stopped(after)
            while stopped and (answer := self._answer(stopped)) is not None:
                stopped = progress.until_stopped(self.publish(answer) - 1)
        except click.Abort:
            return leaving.unanswered(self, stopped.event.execution_id if stopped else execution_id)
        except KeyboardInterrupt:
            return leaving.interrupted(self, progress)
        about = stopped.event.execution_id if stopped else execution_id
        # A child may have the question; of items there may be several that have one.
        return self.shown(execution_id if progress.is_item(about) else about)

    def _see_parent_to_its_stop(self, execution_id: str) -> None:
        """Wait for what *execution_id* is a part of: it went on, and would end with the command."""
        parent = outermost(self.history, execution_id)
        head = self.client.head
        if parent == execution_id or self.history.execution(parent).status != "running":
            return
        self.screen.note(f"execution {parent}, which contains it, continues", "yellow")
        progress = self._progress(parent)
        try:
            progress.until_stopped(head)
        except KeyboardInterrupt:
            leaving.interrupted(self, progress)
            return
        state = self.history.execution(parent)
        reason = f": {state.reason}" if state.reason and state.status != "completed" else ""
        self.screen.note(f"execution {parent} is {state.status}{reason}", "yellow")
        if not state.over:
            self.screen.note(hints_of(self.document(parent))[0], "cyan")

    def pause(self, execution_id: str, event: ExecutionPause) -> int:
        """Pause an execution; as `run`.

        Raises:
            RefusedError: It has ended, or has no steps to pause between.
        """
        state = self._with_steps(execution_id)
        if state.status in ("paused", "halted"):
            show_outcome(self.screen, self.document(execution_id))
            return exit_code(state.status)
        return self.run(execution_id, event)

    def resume(self, execution_id: str, event: ExecutionResume) -> int:
        """Go on with an execution; as `run`.

        Raises:
            RefusedError: It has ended, goes on already, or was not yet at the step that is named.
            WaitingError: It waits for an answer that is not given.
        """
        state = self._with_steps(execution_id)
        event = msgspec.structs.replace(event, seen=self.seen)
        refuse_unsettled(self.history, execution_id)
        if state.status in ("paused", "halted") and state.stood > self.seen:
            self.screen.note(STANDS_ANEW, "yellow")  # a resume never answers what comes after it
            show_outcome(self.screen, self.document(execution_id))
            return exit_code(state.status)
        if event.from_step:
            refuse_step(state, event.from_step)
            return self.run(execution_id, event)
        asker, asked = self.asked(execution_id)
        if asked is not None:
            if event.answer in VERDICTS:
                raise RefusedError(
                    f"execution {asker} wants an answer, not a verdict: "
                    f"`cortex execution resume {asker} --answer TEXT`"
                )
            self.questions.given = event.answer or event.note
            return self.follow(execution_id, asked - 1)
        if event.answer and event.answer not in VERDICTS:
            raise RefusedError(f"execution {execution_id} does not ask a person in a model's place")
        if state.status not in ("paused", "halted"):
            # It was interrupted, and goes on by itself now that a runtime is there.
            last = self.history.stream(STREAM + execution_id)[-1]
            return self.follow(execution_id, last.position - 1)
        if state.fan is not None and state.question and not event.answer:
            refuse_unanswered(state)
        if state.question and state.reason != GOAL and not event.answer:
            if not has_person():
                raise WaitingError(execution_id, state.question)
            try:
                seen = self.client.head
                answer = self.questions.ask(self.document(execution_id), state.question)
            except click.Abort:
                return leaving.unanswered(self, execution_id)
            except Terminated:
                return leaving.terminated(self, execution_id)
            event = msgspec.structs.replace(event, answer=answer, seen=seen)
        if event.answer:
            event = msgspec.structs.replace(event, gate=open_gate(self.history, execution_id))
        return self.run(execution_id, event)

    def edit(self, execution_id: str, event: ExecutionEdit | StepSettle | ContextEdit) -> int:
        """Go on with what a person changed; as `run`, and refused as `pause` is."""
        self._with_steps(execution_id)
        at = self.publish(event)
        code = self.follow(execution_id, at - 1)
        # It stands as it stood, which may be at a breakpoint; that is no success.
        return FAILED if self._was_refused(execution_id, at) else code

    def _was_refused(self, execution_id: str, asked: int) -> bool:
        rows = rows_of(self.history, execution_id)
        others = {record.position: record.topic for record, _ in rows if record.position != asked}
        return any(
            isinstance(event, ExecutionRefused)
            and record.position > asked
            and others.get(record.causation or 0) != event.asked
            for record, event in rows
        )

    def cancel(self, execution_id: str, event: ExecutionCancel) -> int:
        """Cancel an execution.

        Raises:
            RefusedError: It has ended.
        """
        self._unfinished(execution_id, "there is nothing to cancel")
        self.run(execution_id, event)
        return OK

    def finish(self, execution_id: str, event: ExecutionFinish) -> int:
        """End the work towards a goal; as `run`.

        Raises:
            RefusedError: It has ended, or stands at no goal.
        """
        state = self._unfinished(execution_id, "there is nothing to finish")
        if not state.adhoc:
            goal_at_hand_of(self.history, execution_id)
        if event.outputs and not state.adhoc:
            raise RefusedError(
                f"execution {execution_id} is led, and gives what was reached: say it with --note"
            )
        if state.status == "running" and not state.adhoc:
            raise RefusedError(f"execution {execution_id} is at work: pause it first")
        return self.run(execution_id, msgspec.structs.replace(event, seen=self.seen))

    def act(self, execution_id: str, event: StepPropose) -> int:
        """Do something towards a goal; as `run`, and 1 where it was not done.

        Raises:
            RefusedError: The execution has ended.
        """
        state = self._unfinished(execution_id)
        if state.status == "running":
            raise RefusedError(f"execution {execution_id} is at work: pause it first")
        code = self.run(execution_id, event)
        after = self.history.execution(execution_id)
        if len(after.grown) == len(state.grown):
            return FAILED  # it was refused
        done = after.statuses.get(after.grown[len(state.grown)].step_id, "")
        return FAILED if done == "failed" else code

    def asked(self, execution_id: str) -> tuple[str, int | None]:
        """Which execution, that or a child of it, asks a person, and the position at which."""
        state = self.history.execution(execution_id)
        if inner := waiting_child(state):
            return self.asked(inner)
        rows = rows_of(self.history, execution_id)
        asked = asked_of_person(execution_id, (event for _, event in rows))
        places = [record.position for record, event in rows if event == asked]
        return execution_id, places[-1] if asked is not None else None

    def _unfinished(self, execution_id: str, instead: str = "run it again instead") -> Execution:
        state = self.history.execution(execution_id)
        if state.over:
            raise RefusedError(f"execution {execution_id} is {state.status}: {instead}")
        return state

    def _with_steps(self, execution_id: str) -> Execution:
        state = self._unfinished(execution_id)
        if state.adhoc:
            raise RefusedError(
                f"execution {execution_id} runs no process and is open until it is ended: "
                f"`cortex execution finish {execution_id}`, or cancel"
            )
        return state

    def _answer(self, stopped: Stopped) -> Event | None:
        return self.questions.answer(stopped, self.document(stopped.event.execution_id))

    def _progress(self, execution_id: str) -> Progress:
        """What follows the execution, and counts from what it took before."""
        state = self.history.execution(execution_id)
        tally = LiveState(
            state.usage, state.cost, state.started.max_cost if state.started else None
        )
        told = None if self.quiet else self.screen
        return Progress(
            self.client,
            told,
            execution_id,
            self._ailments,
            self.interrupts,
            tally,
            lambda event: say_what_is_missing(self.screen, self.history, event, quiet=self.quiet),
        )

    def shown(self, execution_id: str) -> int:
        """Show an execution as it stands; the exit code comes back."""
        document = self.document(execution_id)
        show_outcome(self.screen, document)
        return WAITING if document.person else exit_code(document.status)
