"""The provider of the model `extractive`: embedded, deterministic, honest about what it is."""

from collections.abc import Iterator

import msgspec

from cortex.bus import Event
from cortex.bus.events import ModelFailed, ModelInvoke, ModelResponded
from cortex.runtime.context import TokenCounter, read_prompt
from cortex.runtime.kernel import Component, Delivery, Serves, on
from cortex.runtime.log import BlobError, Blobs

from . import extractive
from .extractive import MODEL, AnswerTooSmallError


class ExtractiveProvider(Component):
    """Answers with quotations from the prompt, without a model; each answer says so."""

    rests = True
    workers = 1
    cpu = True
    serves = (Serves("model", MODEL.name, traits=msgspec.to_builtins(MODEL)),)

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._counter = TokenCounter(MODEL.encoding)

    @on(ModelInvoke, where={"provider": MODEL.provider})
    def invoke(self, event: ModelInvoke, delivery: Delivery) -> Iterator[Event]:
        """Read the prompt and answer it."""
        try:
            blocks = read_prompt(self._blobs.get(event.prompt))
            extract = extractive.answer_prompt(
                blocks, max_tokens=event.max_tokens, count=self._counter.count
            )
        except (AnswerTooSmallError, BlobError, msgspec.DecodeError) as error:
            yield ModelFailed(
                execution_id=event.execution_id,
                step_id=event.step_id,
                attempt=event.attempt,
                turn=event.turn,
                call=event.call,
                model=event.model,
                error=str(error),
                retry=False,
            )
            return
        yield ModelResponded(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            turn=event.turn,
            call=event.call,
            model=event.model,
            prompt=event.prompt,
            answer={
                "text": extract.text,
                "extractive": True,
                "answered": extract.answered,
                "spans": msgspec.to_builtins(extract.spans),
            },
            input_tokens=self._counter.count("".join(block.sent for block in blocks)),
            output_tokens=self._counter.count(extract.text),
        )
