"""The interface between a session and its user: a person at a terminal, a program, or nobody."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from cortex.bus import Event, Recorded
from cortex.bus.events import ModelInvoke
from cortex.runtime.executions.view import ExecutionDocument, LiveState

if TYPE_CHECKING:
    from cortex.runtime.executions.view import DebugDocument  # not needed by most commands

# What a person at a breakpoint wants; "" leaves the execution paused.
STEP, CONTINUE, EDIT = "step", "continue", "edit"


class ProgressView(AbstractContextManager[object], Protocol):
    """Shows what happens in an execution and its children, while it is entered."""

    def show(self, record: Recorded, event: Event) -> None:
        """Show an event of an execution that is followed."""


class Front:
    """Shows reports of a session and answers its questions. This one shows and answers nothing."""

    quiet = True  # shows no progress, so a wait is reported separately

    def check(self) -> None:
        """Return at once unless somebody ended the work.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
            Terminated: SIGTERM came.
        """

    def note(self, text: str, style: str = "") -> None:
        """Say how it goes; it is no part of the result."""

    def show(self, document: ExecutionDocument) -> None:
        """Show an execution that stopped: the result."""

    def document(self, value: Any) -> None:
        """Hand out the document of an execution that is left, for programs."""

    def progress(self, execution_id: str, tally: LiveState) -> ProgressView | None:
        """What shows an execution that is followed, counting from *tally*."""

    def gate_answer(
        self,
        document: ExecutionDocument,  # noqa: ARG002  # nobody is there
        question: str,  # noqa: ARG002  # nobody is there
    ) -> str:
        """A person's answer to the question of a gate: "approved" or "denied".

        Returns:
            "" if nobody can be asked.

        Raises:
            LeftOpenError: The person leaves the question open.
            Terminated: SIGTERM came.
        """
        return ""

    def breakpoint_answer(self, document: "DebugDocument") -> str:  # noqa: ARG002  # nobody is there
        """What a person wants at a breakpoint: STEP, CONTINUE, EDIT, or "" for none of them."""
        return ""

    def edited_prompt(self, before: str) -> str:
        """The text of a prompt after a person changed it.

        Raises:
            RefusedError: They did not.
        """
        return before

    def agrees(self, question: str) -> bool:  # noqa: ARG002  # nobody is there
        """Whether a person says yes to *question*."""
        return False

    def model_answer(self, asked: ModelInvoke, prompt: str) -> str:  # noqa: ARG002  # nobody is there
        """What a person answers in a model's place; as `gate_answer`."""
        return ""
