"""Questions at which an execution waits for a person, and where their answers come from."""

from cortex.bus import Event
from cortex.bus.events import ExecutionPaused, ExecutionResume, ModelInvoke
from cortex.runtime.executions import GOAL, ITEMS
from cortex.runtime.executions.view import ExecutionDocument, review_of, shape_of, task_first
from cortex.runtime.log import Blobs

from ..screen import Screen
from .keyboard import Interrupts, Keyboard
from .people import answer_to, has_person, written_answer
from .progress import Stopped

CTRL_C = "interrupted by Ctrl-C"


class Questions:
    """Asks whoever is at the keyboard, unless the command line has the answer."""

    def __init__(self, screen: Screen, blobs: Blobs, interrupts: Interrupts) -> None:
        self._screen = screen
        self._blobs = blobs
        self._keyboard = Keyboard(interrupts)
        self.approve = False  # answers every question of a gate with yes
        self.given = ""  # the next answer to what is asked in a model's place

    def answer(self, stopped: Stopped, document: ExecutionDocument) -> Event | None:
        """What to say to a stop so that it goes on; None where it stays.

        Raises:
            click.Abort: The person leaves the question open.
            Terminated: The command was told to end.
        """
        event = stopped.event
        if stopped.asked is not None:
            return self._in_place_of_model(stopped.asked, stopped.position)
        if not isinstance(event, ExecutionPaused):
            return None
        seen = stopped.position
        if event.reason == CTRL_C:
            return ExecutionResume(execution_id=event.execution_id, seen=seen)
        if event.reason == GOAL:
            return None  # what is to be done next is no yes or no: `cortex execution do`
        if event.reason == ITEMS:
            return None  # several wait, each for an answer of its own
        # What became of an effect is not for a yes or a no.
        if not event.question or document.effects or not (self.approve or has_person()):
            return None
        answer = "approved" if self.approve else self.ask(document, event.question)
        # A log of an older version does not say which gate asks; the execution knows.
        gate = event.gate or document.gate
        return ExecutionResume(execution_id=event.execution_id, answer=answer, gate=gate, seen=seen)

    def ask(self, document: ExecutionDocument, question: str) -> str:
        """What the person at the keyboard answers, once they saw what it is about.

        Raises:
            click.Abort: Nothing.
            Terminated: The command was told to end.
        """
        for line in review_of(document):
            self._screen.note(line)
        return answer_to(question, self._keyboard)

    def _in_place_of_model(self, asked: ModelInvoke, seen: int) -> Event | None:
        answer, self.given = self.given, ""
        if not answer:
            if not has_person():
                return None
            self._show(asked)
            answer = written_answer(self._keyboard)
        return ExecutionResume(execution_id=asked.execution_id, answer=answer, seen=seen)

    def _show(self, asked: ModelInvoke) -> None:
        for line in task_first(self._blobs.get(asked.prompt).decode()):
            self._screen.note(line, lead="  | ", style="dim")
        ends = "Ctrl-D ends it, Ctrl-C leaves it open"
        told = f"{asked.model}, the answer of {asked.step_id}? ({shape_of(asked)}; {ends})"
        self._screen.note(told, "bold")
