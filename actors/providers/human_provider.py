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
from cortex.runtime.context import counter_for
from cortex.runtime.executions import ENGINE
from cortex.runtime.kernel import Component, Config, Delivery, Serves, on
from cortex.runtime.log import BlobError, Blobs
from cortex.runtime.models import PERSON, Usage, endpoints

from .calling import CallFailedError, announced, failed, responded

Ending = ExecutionCancelled | ExecutionCompleted | ExecutionFailed | ExecutionHalted | StepFailed


class HumanProvider(Component):
    """Asks for the execution to be paused, and takes the answer that it is resumed with.

    A question waits as long as it takes; it is dropped with its execution, or with the attempt.
    """

    recalls = 1  # the open questions

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
        """Answer, or ask again where nothing was said."""
        if delivery.source != ENGINE:
            return  # the engine alone says that an execution goes on, and by whom
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
            prompt = self._blobs.get(asked.prompt).decode()
        except BlobError:
            prompt = ""  # who answered has seen it, or knows better
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
        """Nobody waits for the answer any more: the engine says so, whatever others say."""
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
        """Know what was asked and not answered before this start."""
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
        """Take up the open questions."""
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
