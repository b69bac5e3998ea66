"""A runtime inside the command: it runs as long as the command does, and leaves nothing behind."""

import logging
import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
import structlog

from cortex.bus import Client, Event
from cortex.bus.events import (
    ExecutionCancel,
    ExecutionPause,
    ExecutionPaused,
    ExecutionResume,
    ProcessCompiled,
    ProcessRejected,
    ProcessSubmit,
)
from cortex.runtime.kernel import Home, Runtime

from .errors import NotFoundError, RefusedError, RejectedError
from .exits import INTERRUPTED, OK
from .history import History
from .outcome import hints_of, show_outcome
from .progress import Progress, Stopped
from .reading import rows_of
from .screen import Screen
from .sources import first_problem, is_submitted, sources_of
from .summary import ExecutionDocument, document_of, exit_code

LOG_LEVEL = "CORTEX_LOG"  # "debug", "info", "warning", ...: what the runtime says of itself
COMPILE_S = 60.0
PAUSE_S = 3.0  # how long Ctrl-C waits for the step at hand
CTRL_C = "interrupted by Ctrl-C"


class Station:
    """A running runtime, spoken to through one client. `open` makes one."""

    def __init__(self, home: Home, runtime: Runtime, screen: Screen) -> None:
        self.home = home
        self.client: Client = runtime.client("cli")
        self.history = History.beside(home, self.client, runtime.blobs)
        self.screen = screen
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
        _log_to_stderr()
        with Runtime(home.open()) as runtime:
            yield cls(home, runtime, screen)

    def known(self, prefix: str) -> str:
        """The execution whose id starts with *prefix*.

        Raises:
            NotFoundError: There is none, or several.
        """
        return self.history.execution_id(prefix)

    def publish(self, event: Event) -> int:
        """Record *event*; its position comes back."""
        return self.client.publish(event)

    def document(self, execution_id: str) -> ExecutionDocument:
        """The execution as it stands."""
        state = self.history.execution(execution_id)
        return document_of(state, rows_of(self.history, execution_id))

    def submit_changed(self) -> None:
        """Compile what is new among the sources of the home; say what was rejected."""
        sources = sources_of(self.home)
        for problem in sources.unreadable:
            self.screen.note(str(problem), "yellow")
        for error in self.submit(sources.texts):
            if isinstance(error, RejectedError):
                self.screen.note(str(error), "yellow")

    def submit(self, texts: dict[str, str]) -> "list[ProcessCompiled | RejectedError]":
        """Compile those of *texts* that are new; what became of them comes back.

        Raises:
            RefusedError: The compiler said nothing in time.
        """
        new = {f: t for f, t in texts.items() if not is_submitted(self.history, f, t)}
        if not new:
            return []
        feed = self.client.follow(("process.*", None))
        waiting = {
            self.publish(ProcessSubmit(file=file, text=text)): file for file, text in new.items()
        }
        found: list[ProcessCompiled | RejectedError] = []
        deadline = time.monotonic() + COMPILE_S
        try:
            while waiting:
                if time.monotonic() > deadline:
                    files = ", ".join(waiting.values())
                    raise RefusedError(f"{files}: not compiled within {COMPILE_S:g} s; try again")
                for record in feed.next(0.5):
                    event = self.client.vocabulary.read(record)
                    if isinstance(event, ProcessCompiled | ProcessRejected):
                        waiting.pop(record.causation or 0, None)
                        rejected = isinstance(event, ProcessRejected)
                        found.append(first_problem(event) if rejected else event)
        finally:
            feed.close()
        return found

    def run(self, execution_id: str, request: Event) -> int:
        """Record *request*, follow the execution to its stop, show it; the exit code comes back."""
        return self.follow(execution_id, self.publish(request) - 1)

    def follow(self, execution_id: str, after: int) -> int:
        """Follow an execution from position *after*; as `run`."""
        progress = Progress(self.client, self.screen, execution_id, quiet=self.quiet)
        try:
            stopped = progress.until_stopped(after)
            while stopped and (answer := self._answer(stopped)) is not None:
                stopped = progress.until_stopped(self.publish(answer) - 1)
        except KeyboardInterrupt:
            return self._interrupted(progress)
        document = self.document(execution_id)
        waits = isinstance(stopped, Stopped) and isinstance(stopped.event, ExecutionPaused)
        if waits and stopped and stopped.event.execution_id != execution_id:
            document = self.document(stopped.event.execution_id)  # a child has the question
        show_outcome(self.screen, document)
        return exit_code(document.status)

    def go_on(self, execution_id: str, event: ExecutionResume | ExecutionPause) -> int:
        """Pause or resume an execution, follow it to its next stop; as `run`.

        Raises:
            RefusedError: It has ended, or it waits for an answer that is not given.
        """
        state = self.history.execution(execution_id)
        if state.over:
            raise RefusedError(
                f"execution {execution_id} is {state.status}: it cannot go on, run it again"
            )
        resumes = isinstance(event, ExecutionResume)
        if resumes and state.question and not event.answer and not _has_person():
            raise RefusedError(
                f"execution {execution_id} asks: {state.question} -- answer with --approve or "
                "--deny"
            )
        if resumes and state.status not in ("paused", "halted"):
            # It was interrupted and goes on by itself, now that a runtime is there.
            return self.follow(execution_id, self.history.last_position(execution_id))
        if not resumes and state.status in ("paused", "halted"):
            show_outcome(self.screen, self.document(execution_id))
            return exit_code(state.status)
        if resumes and state.question and not event.answer:
            return self.follow(execution_id, self.history.last_position(execution_id) - 1)
        return self.run(execution_id, event)

    def cancel(self, execution_id: str, event: ExecutionCancel) -> int:
        """Cancel an execution.

        Raises:
            RefusedError: It has ended.
        """
        state = self.history.execution(execution_id)
        if state.over:
            raise RefusedError(f"execution {execution_id} is {state.status} already")
        self.run(execution_id, event)
        return OK

    def _answer(self, stopped: Stopped) -> Event | None:
        """What to say to a pause so that it goes on; None where it stays."""
        event = stopped.event
        if not isinstance(event, ExecutionPaused):
            return None
        if event.reason == CTRL_C:
            return ExecutionResume(execution_id=event.execution_id, by=user_name())
        if not event.question:
            return None
        if self.approve:
            approved = True
        elif _has_person():
            approved = click.confirm(event.question, err=True)
        else:
            return None
        answer = "approved" if approved else "denied"
        return ExecutionResume(execution_id=event.execution_id, answer=answer, by=user_name())

    def _interrupted(self, progress: Progress) -> int:
        execution_id = progress.execution_id
        state = self.history.execution(execution_id)
        if not state.over and state.status != "paused":
            self.screen.note("pausing after the step at hand; Ctrl-C again leaves at once")
            asked = self.publish(ExecutionPause(execution_id=execution_id, reason=CTRL_C))
            progress.until_stopped(asked - 1, PAUSE_S)
        document = self.document(execution_id)
        self.screen.note(f"execution {execution_id} is {document.status}", "yellow")
        hint = hints_of(document)[0] if document.status == "paused" else ""
        self.screen.note(hint or f"cortex execution resume {execution_id}", "cyan")
        return INTERRUPTED


def new_id() -> str:
    """An id for an execution or a trigger: 16 lower-case letters and digits."""
    letters = "abcdefghijklmnopqrstuvwxyz234567"
    return "".join(secrets.choice(letters) for _ in range(16))


def user_name() -> str:
    """Who is at the keyboard, as far as the system can tell."""
    return os.environ.get("USER") or f"uid {os.getuid()}"


def unknown_process(name: str, known: list[str]) -> NotFoundError:
    """The error for a process that is not there."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "`cortex process list` shows those there are"
    return NotFoundError("process", name, f"is not here: {hint}")


def _has_person() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _log_to_stderr() -> None:
    level = logging.getLevelNamesMapping().get(os.environ.get(LOG_LEVEL, "").upper())
    structlog.configure(
        # What matters to a user is an event or an error; the rest is for whoever asks for it.
        wrapper_class=structlog.make_filtering_bound_logger(level or logging.CRITICAL),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
