"""A runtime inside the command: it runs as long as the command does, and leaves nothing behind."""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec
import structlog

from cortex.bus import Client, Event, LogError
from cortex.bus.events import (
    ExecutionCancel,
    ExecutionFinish,
    ExecutionPause,
    ExecutionPaused,
    ExecutionResume,
    TriggerMatched,
    TriggerReceived,
    TriggerUnmatched,
)
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.processes.execution import Execution

from ..errors import RefusedError, UnmatchedError, WaitingError
from ..exits import INTERRUPTED, OK
from ..outcome import hints_of, show_outcome
from ..reading import (
    STREAM,
    Catalog,
    ExecutionDocument,
    History,
    document_of,
    exit_code,
    review_of,
    rows_of,
)
from ..screen import Screen
from .ailments import Ailments
from .people import answer_to, has_person, user_name
from .progress import Progress, Stopped
from .rejections import in_passing, stands_in_the_way
from .sources import changed, gone, source_at, sources_of
from .submission import submit

LOG_LEVEL = "CORTEX_LOG"  # "debug", "info", "warning", ...: what the runtime says of itself
START_S = 30.0
LEAVING = "leaving execution {} in the middle of a step; it goes on with"
CTRL_C = "interrupted by Ctrl-C"


class Station:
    """A running runtime, spoken to through one client. `open` makes one."""

    def __init__(self, home: Home, runtime: Runtime, screen: Screen, ailments: Ailments) -> None:
        self.home = home
        self.client: Client = runtime.client("cli")
        self.history = History(home, runtime.log, runtime.blobs, runtime.vocabulary)
        self.screen = screen
        self._ailments = ailments
        self.quiet = False
        self.approve = False  # answers every question with yes

    @classmethod
    @contextmanager
    def open(cls, home: Home, screen: Screen) -> "Iterator[Station]":
        """Run a runtime on *home*, made where it is missing, until the block is left.

        Raises:
            HomeError: The home cannot be used.
            LogError: Its log cannot be used, or another process runs a runtime on it.
        """
        ailments = _listen()
        failure: BaseException | None = None
        try:
            with Runtime(home.open()) as runtime:
                try:
                    yield cls(home, runtime, screen, ailments)
                except BaseException as error:
                    failure = error
                    raise
        except LogError:
            # What the command failed with says more than that the end could not be recorded.
            if failure is not None:
                raise failure from None
            raise

    def known(self, prefix: str) -> str:
        """The execution whose id starts with *prefix*.

        Raises:
            NotFoundError: There is none, or several.
        """
        return self.history.execution_id(prefix)

    def publish(self, *events: Event) -> int:
        """Record *events* together; the position of the last one comes back."""
        return self.client.publish(*events)

    def document(self, execution_id: str) -> ExecutionDocument:
        """The execution as it stands."""
        state = self.history.execution(execution_id)
        return document_of(state, rows_of(self.history, execution_id), self.history.blobs)

    def submit_changed(self, name: str = "") -> None:
        """Compile what is new among the sources of the home; say what was rejected.

        Raises:
            RejectedError: It was a source of the process *name*, whose older form must not run.
        """
        sources, catalog = sources_of(self.home), Catalog(self.history)
        new = changed(sources.texts, catalog)
        for problem in sources.unreadable:
            self.screen.note(str(problem), "yellow")
        submitted = submit(self.client, self.history.blobs, new, gone(sources, catalog))
        if not submitted.rejected:
            return
        rejected = submitted.rejected
        if name and (own := stands_in_the_way(name, rejected, sources.texts, catalog)):
            raise own
        self.screen.note(in_passing(rejected), "yellow")

    def submit_file(self, path: Path) -> str:
        """Compile the source at *path*; the name of the process to run from it comes back.

        Raises:
            NotFoundError: There is no such file.
            RejectedError: It has errors.
            RefusedError: It holds no process, or several.
        """
        file, text = source_at(path)
        if changed({file: text}, Catalog(self.history)):
            for rejected in submit(self.client, self.history.blobs, {file: text}).rejected:
                raise rejected
        compiled = [c.event for c in Catalog(self.history).compiled.values()]
        names = sorted({e.name for e in compiled if e.file == file and not e.abstract})
        if len(names) != 1:
            raise RefusedError(
                f"{file} has {', '.join(names) or 'no process that can be run'}: "
                "run a process by its name"
            )
        return names[0]

    def until_started(self, execution_id: str) -> None:
        """Wait until an execution was begun or refused.

        Raises:
            RefusedError: It was refused, or nobody began it in time.
        """
        deadline = time.monotonic() + START_S
        while (state := self.history.execution(execution_id)).status == "requested":
            if time.monotonic() > deadline:
                raise RefusedError(f"execution {execution_id} was not begun in {START_S:g} s")
            time.sleep(0.01)
        if state.status == "failed":
            raise RefusedError(state.reason)

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
                for record in feed.next(0.5):
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
        told = None if self.quiet else self.screen
        progress = Progress(self.client, told, execution_id, self._ailments)
        try:
            stopped = progress.until_stopped(after)
            while stopped and (answer := self._answer(stopped)) is not None:
                stopped = progress.until_stopped(self.publish(answer) - 1)
        except click.Abort:
            return self._unanswered(stopped.event.execution_id if stopped else execution_id)
        except KeyboardInterrupt:
            return self._interrupted(progress)
        # A child may have the question.
        return self._shown(stopped.event.execution_id if stopped else execution_id)

    def pause(self, execution_id: str, event: ExecutionPause) -> int:
        """Pause an execution; as `run`.

        Raises:
            RefusedError: It has ended.
        """
        state = self._unfinished(execution_id)
        if state.status in ("paused", "halted"):
            show_outcome(self.screen, self.document(execution_id))
            return exit_code(state.status)
        return self.run(execution_id, event)

    def resume(self, execution_id: str, event: ExecutionResume) -> int:
        """Go on with an execution; as `run`.

        Raises:
            RefusedError: It has ended.
            WaitingError: It waits for an answer that is not given.
        """
        state = self._unfinished(execution_id)
        if state.status not in ("paused", "halted"):
            # It was interrupted, and goes on by itself now that a runtime is there.
            last = self.history.stream(STREAM + execution_id)[-1]
            return self.follow(execution_id, last.position - 1)
        if state.question and not event.answer:
            if not has_person():
                raise WaitingError(execution_id, state.question)
            try:
                answer = self._ask(execution_id, state.question)
            except click.Abort:
                return self._unanswered(execution_id)
            event = msgspec.structs.replace(event, answer=answer)
        return self.run(execution_id, event)

    def cancel(self, execution_id: str, event: ExecutionCancel) -> int:
        """Cancel an execution.

        Raises:
            RefusedError: It has ended.
        """
        self._unfinished(execution_id)
        self.run(execution_id, event)
        return OK

    def finish(self, execution_id: str, event: ExecutionFinish) -> int:
        """End an ad-hoc execution; as `run`.

        Raises:
            RefusedError: It has ended, or a process runs in it.
        """
        if not self._unfinished(execution_id).adhoc:
            raise RefusedError(f"execution {execution_id} runs a process, which ends it: cancel it")
        return self.run(execution_id, event)

    def _unfinished(self, execution_id: str) -> Execution:
        state = self.history.execution(execution_id)
        if state.over:
            raise RefusedError(f"execution {execution_id} is {state.status}: run it again instead")
        return state

    def _answer(self, stopped: Stopped) -> Event | None:
        """What to say to a pause so that it goes on; None where it stays."""
        event = stopped.event
        if not isinstance(event, ExecutionPaused):
            return None
        if event.reason == CTRL_C:
            return ExecutionResume(execution_id=event.execution_id, by=user_name())
        if not event.question:
            return None
        if not (self.approve or has_person()):
            return None
        asker = event.execution_id
        answer = "approved" if self.approve else self._ask(asker, event.question)
        return ExecutionResume(execution_id=event.execution_id, answer=answer, by=user_name())

    def _ask(self, execution_id: str, question: str) -> str:
        """What the person at the keyboard answers, once they saw what it is about."""
        for line in review_of(self.document(execution_id)):
            self.screen.note(line)
        return answer_to(question)

    def _shown(self, execution_id: str) -> int:
        document = self.document(execution_id)
        show_outcome(self.screen, document)
        return exit_code(document.status)

    def _interrupted(self, progress: Progress) -> int:
        """Pause after Ctrl-C; a second one does not wait for the step at hand."""
        execution_id = progress.execution_id
        state = self.history.execution(execution_id)
        try:
            if not state.over and state.status not in ("paused", "halted"):
                self.screen.note(
                    "pausing when the step at hand is done; Ctrl-C again leaves at once"
                )
                asked = self.publish(ExecutionPause(execution_id=execution_id, reason=CTRL_C))
                progress.until_stopped(asked - 1)
        except KeyboardInterrupt:
            self.screen.note(
                LEAVING.format(execution_id),
                "yellow",
            )
            self.screen.note(f"cortex execution resume {execution_id}", "cyan")
            # A runtime that is stopped waits for its steps; one that is killed loses nothing that
            # was recorded, and its children end by themselves.
            os._exit(INTERRUPTED)
        if (state := self.history.execution(execution_id)).over:
            return self._shown(execution_id)  # the step at hand was its last
        self.screen.note(f"execution {execution_id} is {state.status}", "yellow")
        self.screen.note(hints_of(self.document(execution_id))[0], "cyan")
        return INTERRUPTED

    def _unanswered(self, execution_id: str) -> int:
        """Leave a question open that was not answered but interrupted."""
        self.screen.note("")
        self.screen.note(f"execution {execution_id} is paused until it is answered", "yellow")
        self.screen.note(hints_of(self.document(execution_id))[0], "cyan")
        return INTERRUPTED


def _listen() -> Ailments:
    level = logging.getLevelNamesMapping().get(os.environ.get(LOG_LEVEL, "").upper())
    ailments = Ailments(shown=level is not None)
    structlog.configure(
        # What matters to a user is an event or an error; the rest is for whoever asks for it.
        processors=[ailments, *structlog.get_config()["processors"]],
        wrapper_class=structlog.make_filtering_bound_logger(level or logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    return ailments
