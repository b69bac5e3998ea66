"""How a session reaches whoever works with it: a person at a terminal, a program, or nobody."""

from contextlib import AbstractContextManager
from typing import Any, Protocol

from cortex.bus import Event, Recorded
from cortex.bus.events import ModelInvoke
from cortex.runtime.executions.view import ExecutionDocument, LiveState


class ProgressView(AbstractContextManager[object], Protocol):
    """Shows what happens in an execution and its children, while it is entered."""

    def show(self, record: Recorded, event: Event) -> None:
        """Show an event of an execution that is followed."""


class Front:
    """What a session tells and asks. This one tells nothing and has no answer."""

    quiet = True  # nothing watches an execution, so that what it waits for is told

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
        """What a person says to the question of a gate: "approved" or "denied".

        Returns:
            "" where nobody is there.

        Raises:
            LeftOpenError: The person leaves the question open.
            Terminated: SIGTERM came.
        """
        return ""

    def model_answer(self, asked: ModelInvoke, prompt: str) -> str:  # noqa: ARG002  # nobody is there
        """What a person answers in a model's place; as `gate_answer`."""
        return ""
