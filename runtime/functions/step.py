"""What a decorated function may know of what it is asked for, and say beside its result."""

import pathlib
from functools import cached_property
from typing import Any

from cortex.bus import Event
from cortex.bus.events import GateEvaluate, StepExecute, ToolCall
from cortex.runtime.context import Message, Parts, PromptBlock, messages_of, parts_of
from cortex.runtime.kernel import Delivery, Home

from .path import root_of


class Step:
    """The step that an action, a gate, a tool or a model is asked for.

    Its ids are filled into the answer, so that nobody copies them. It holds the only time and ids
    that are the same when the event is handed out again.

    Attributes:
        summary: One line about the result for people; empty unless set.
    """

    def __init__(self, event: Any, delivery: Delivery, home: Home | None = None) -> None:
        self._event, self.delivery, self._home = event, delivery, home
        self.summary = ""
        self.prompt = ""  # of a model that is asked, as one text
        self.blocks: tuple[PromptBlock, ...] = ()  # of that prompt, in order
        self.published: list[Event] = []  # to be recorded with the answer

    @property
    def event(self) -> Any:
        """The request as it was recorded."""
        return self._event

    @property
    def execution_id(self) -> str:
        """The execution that it serves."""
        return str(self._event.execution_id)

    @property
    def step_id(self) -> str:
        """The step's id in its process; "" for a gate of the process."""
        return str(self._event.step_id)

    @property
    def attempt(self) -> int:
        """1 for the first try."""
        return int(self._event.attempt)

    @property
    def timeout_s(self) -> float:
        """How long it may take."""
        return float(self._event.timeout_s)

    @property
    def goal(self) -> str:
        """What the execution is for, in a line."""
        return str(getattr(self._event, "goal", ""))

    @property
    def answer(self) -> dict[str, Any]:
        """What a model answered, for an action that asks one: "text", and "data" where typed."""
        return self._event.answer if isinstance(self._event, StepExecute) else {}

    @property
    def parts(self) -> Parts:
        """The prompt of a model that is asked, taken apart: `system`, `tools` and `user`."""
        return parts_of(self.blocks)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt of a model that is asked, as messages: each a `role` and its `blocks`."""
        return messages_of(self.blocks)

    @property
    def workspace(self) -> pathlib.Path:
        """The folder that the execution works in, as it was given; the current one for none."""
        return pathlib.Path(self._event.workspace or ".").absolute()

    @cached_property
    def root(self) -> pathlib.Path:
        """Where paths start: the workspace, or the execution's work tree; links are followed.

        Raises:
            StepError: There is none.
        """
        return root_of(self._event, self._home)

    @property
    def time_ns(self) -> int:
        """When it was asked for, UTC nanoseconds since 1970; a replay repeats it."""
        return self.delivery.time_ns

    @property
    def begun(self) -> bool:
        """Whether its effect was begun before: find out what came of it, and begin none."""
        return self.delivery.begun

    def new_id(self, n: int = 0) -> str:
        """The *n*-th id: 16 letters and digits, the same at every replay."""
        return self.delivery.new_id(n)

    def effect_key(self, n: int = 0) -> str:
        """The idempotency key of the *n*-th effect, the same when it is repeated."""
        return self.delivery.effect_key(n)

    def publish(self, *events: Event) -> None:
        """Have *events* recorded together with the answer, before it."""
        self.published += events


class ActionStep(Step):
    """A step that an action carries out."""

    @property
    def event(self) -> StepExecute:
        """The request as it was recorded."""
        event: StepExecute = self._event
        return event


class GateStep(Step):
    """A step, or a process, whose gate is asked."""

    @property
    def event(self) -> GateEvaluate:
        """The request as it was recorded."""
        event: GateEvaluate = self._event
        return event


class ToolStep(Step):
    """A step whose model calls a tool."""

    @property
    def event(self) -> ToolCall:
        """The request as it was recorded."""
        event: ToolCall = self._event
        return event
