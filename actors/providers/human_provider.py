"""The provider `human`: a person answers, with `cortex execution resume`."""

from collections.abc import Iterator

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPause,
    ExecutionResumed,
    ModelInvoke,
    StepFailed,
)
from cortex.runtime.context import counter_for, text_of
from cortex.runtime.executions import ENGINE
from cortex.runtime.kernel import Component, Config, Delivery, Serves, on
from cortex.runtime.log import Blobs
from cortex.runtime.models import PERSON, Usage, endpoints

from .calls import CallFailedError, announced, blocks_in, failed, responded

Ending = ExecutionCancelled | ExecutionCompleted | ExecutionFailed | ExecutionHalted | StepFailed


class HumanProvider(Component):
    """Asks to pause the execution, and uses the answer with which it is resumed.

    A question waits as long as it takes; it is dropped with its execution, or with the attempt.
    """

    recalls = 1  # the open questions
    rests = True

    @classmethod
    def announces(cls, config: Config) -> tuple[Serves, ...]:
        """The people that the home configures."""
        return announced(config, PERSON)

    def __init__(self, blobs: Blobs, config: Config) -> None:
        self._blobs = blobs
        self._endpoints = endpoints(config.models, PERSON)
        self._open: dict[str, ModelInvoke] = {}  # by execution: each asks one thing at a time

    @on(ModelInvoke, where={"provider": PERSON})
    def invoke(self, event: ModelInvoke, delivery: Delivery) -> Iterator[Event]:
        """Ask."""
        self._open[event.execution_id] = event
        yield self._question(event)

    @on(ExecutionResumed)
    def resumed(self, event: ExecutionResumed, delivery: Delivery) -> Iterator[Event]:
        """Answer, or ask again if there was no answer."""
        if delivery.source != ENGINE:
            return  # only the engine reports that an execution continues, and by whom
        asked = self._open.get(event.execution_id)
        text = event.answer or event.note
        if asked is None:
            return
        if not text or asked.model not in self._endpoints:
            yield self._question(asked)
            return
        del self._open[event.execution_id]
        description = self._endpoints[asked.model].description
        count = counter_for(description.encoding).count
        try:
            prompt = text_of(blocks_in(self._blobs, asked))
        except CallFailedError:
            prompt = ""  # the person has seen it
        usage = Usage(input=count(prompt), output=count(text))
        try:
            answered = responded(asked, description, text, usage)
            said: Event = msgspec.structs.replace(answered, by=event.by)
        except CallFailedError as error:
            said = failed(asked, error)
        yield said

    @on(ExecutionCancelled)
    @on(ExecutionCompleted)
    @on(ExecutionFailed)
    @on(ExecutionHalted)
    @on(StepFailed)
    def forget(self, event: Ending, delivery: Delivery) -> None:
        """Drop the question: the engine reports that its answer is no longer wanted."""
        if delivery.source != ENGINE:
            return
        asked = self._open.get(event.execution_id)
        if asked is None:
            return
        if isinstance(event, StepFailed) and (asked.step_id, asked.attempt) != (
            event.step_id,
            event.attempt,
        ):
            return
        del self._open[event.execution_id]

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Restore the open questions from before this start."""
        if isinstance(event, ModelInvoke):
            self._open[event.execution_id] = event
        elif isinstance(event, ExecutionResumed):
            if delivery.source == ENGINE and (event.answer or event.note):
                self._open.pop(event.execution_id, None)
        elif isinstance(event, Ending):
            self.forget(event, delivery)

    def snapshot(self) -> bytes:
        """The open questions."""
        return msgspec.msgpack.encode(list(self._open.values()))

    def restore(self, snapshot: bytes) -> None:
        """Restore the open questions."""
        questions = msgspec.msgpack.decode(snapshot, type=list[ModelInvoke])
        self._open = {asked.execution_id: asked for asked in questions}

    def _question(self, asked: ModelInvoke) -> Event:
        if asked.model not in self._endpoints:
            self._open.pop(asked.execution_id, None)
            problem = "no person of this name is configured any more"
            return failed(asked, CallFailedError("missing", problem))
        return ExecutionPause(
            execution_id=asked.execution_id,
            reason=f"{asked.model} is asked for the answer of {asked.step_id}",
            question=f"What does {asked.model} answer to the prompt of {asked.step_id}?",
            prompt=asked.prompt,
        )
