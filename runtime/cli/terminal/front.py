"""The terminal as a session's front: shows progress, and asks the user questions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from cortex.bus.events import ModelInvoke
from cortex.runtime.executions.view import (
    ExecutionDocument,
    LiveState,
    review_of,
    shape_of,
    task_first,
)
from cortex.runtime.kernel import Home
from cortex.runtime.sessions import Front, LeftOpenError, ProgressView, Session

from ..outcome import show_outcome
from ..screen import Screen
from .keyboard import Interrupts, Keyboard
from .live import ProgressLines
from .people import answer_to, edited_text, has_person, wanted_at_breakpoint, written_answer

if TYPE_CHECKING:
    from cortex.runtime.executions.view import DebugDocument  # not needed by most commands


@contextmanager
def open_session(
    home: Home, screen: Screen, *, quiet: bool = False, approve: bool = False, shows: bool = True
) -> Iterator[Session]:
    """A session at this terminal; raises as `Session.open` does.

    Args:
        home: Made where it is missing.
        screen: Where results and progress go.
        quiet: Progress is not shown.
        approve: Every question of a gate is answered with yes.
        shows: Whether the outcome is shown; otherwise the command shows it.
    """
    with Interrupts() as interrupts:
        front = Terminal(screen, interrupts, quiet=quiet, approve=approve, shows=shows)
        with Session.open(home, front) as session:
            yield session


class Terminal(Front):
    """Standard output, standard error and the keyboard of one command."""

    def __init__(
        self,
        screen: Screen,
        interrupts: Interrupts,
        *,
        quiet: bool = False,
        approve: bool = False,
        shows: bool = True,
    ) -> None:
        self.quiet, self._approve, self._shows = quiet, approve, shows
        self._screen, self._interrupts = screen, interrupts
        self._keyboard = Keyboard(interrupts)

    def check(self) -> None:
        """Raise Ctrl-C and SIGTERM, which were noted when they came."""
        self._interrupts.check()

    def note(self, text: str, style: str = "") -> None:
        """A line on standard error."""
        self._screen.note(text, style)

    def show(self, document: ExecutionDocument) -> None:
        """The result on standard output."""
        if self._shows:
            show_outcome(self._screen, document)

    def document(self, value: Any) -> None:
        """The result as JSON; nothing for people, who saw it already."""
        self._screen.document(value)

    def progress(self, execution_id: str, tally: LiveState) -> ProgressView | None:
        """Standard error, unless the command is quiet."""
        return None if self.quiet else ProgressLines(self._screen, execution_id, tally)

    def gate_answer(self, document: ExecutionDocument, question: str) -> str:
        """What the person at the keyboard answers, once they saw what it is about."""
        if self._approve:
            return "approved"
        if not has_person():
            return ""
        for line in review_of(document):
            self._screen.note(line)
        try:
            return answer_to(question, self._keyboard)
        except click.Abort:
            raise LeftOpenError from None

    def breakpoint_answer(self, document: "DebugDocument") -> str:
        """What the person at the keyboard wants: STEP, CONTINUE, EDIT, or "" to leave it paused."""
        if self._screen.as_json or self._approve or not has_person():
            return ""
        from .debugging import headline, next_line, show_debug  # not needed by most commands

        self._screen.note(headline(document), "bold yellow")
        self._screen.note(next_line(document))
        return wanted_at_breakpoint(
            self._keyboard,
            can_edit=document.prompt is not None and not document.prompt.turn,
            show=lambda: show_debug(self._screen, document, full=True, hints=False),
        )

    def edited_prompt(self, before: str) -> str:
        """What the person saved in their editor."""
        return edited_text(before)

    def agrees(self, question: str) -> bool:
        """Whether the person at the keyboard says yes; False if there is none."""
        if not has_person():
            return False
        try:
            return answer_to(question, self._keyboard) == "approved"
        except click.Abort:
            return False

    def model_answer(self, asked: ModelInvoke, prompt: str) -> str:
        """What the person at the keyboard writes, once they saw what is asked."""
        if not has_person():
            return ""
        for line in task_first(prompt):
            self._screen.note(line, lead="  | ", style="dim")
        ends = "Ctrl-D ends it, Ctrl-C leaves it open"
        told = f"{asked.model}, the answer of {asked.step_id}? ({shape_of(asked)}; {ends})"
        self._screen.note(told, "bold")
        try:
            return written_answer(self._keyboard)
        except click.Abort:
            raise LeftOpenError from None
