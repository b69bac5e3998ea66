"""The accessor of recorded calls: answers a fork or a what-if from the record."""

from collections.abc import Iterator

from cortex.bus import Event, Log, Vocabulary, decode
from cortex.bus.events import RECORD, GateEvaluate, ModelInvoke, StepExecute, ToolCall
from cortex.runtime.executions import ENGINE, repeated
from cortex.runtime.kernel import Component, Delivery, on

LARGEST_BYTES = 64 << 20  # of one record


class RecordedCallAccessor(Component):
    """Repeats the answer that a request names; nothing is sent, and nothing happens."""

    rests = True

    def __init__(self, log: Log, vocabulary: Vocabulary) -> None:
        self._log, self._vocabulary = log, vocabulary

    @on(GateEvaluate, where={"gate": RECORD})
    @on(ModelInvoke, where={"provider": RECORD})
    @on(StepExecute, where={"action": RECORD})
    @on(ToolCall, where={"provider": RECORD})
    def repeat(
        self, event: GateEvaluate | ModelInvoke | StepExecute | ToolCall, delivery: Delivery
    ) -> Iterator[Event]:
        """The recorded answer, as the answer to *event*."""
        if delivery.source != ENGINE:
            return  # only the engine knows which answer belongs to a request
        for data in self._log.read(event.recorded - 1, 1, LARGEST_BYTES):
            answer = repeated(event, self._vocabulary.read(decode(data)))
            if answer is not None:
                yield answer
