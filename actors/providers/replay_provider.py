"""The provider `replay`: answers as they were recorded, from the log of another home."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cortex.bus import Event, LogError, Vocabulary
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ModelInvoke,
    ModelResponded,
)
from cortex.runtime.kernel import Component, Config, Delivery, Home, Serves, on
from cortex.runtime.models import Usage, cost, endpoints

from .calling import CallFailedError, announced, failed
from .recorded_answers import RecordedAnswers

PROVIDER = "replay"
Ask = tuple[str, str, str]  # execution, model, prompt


class ReplayProvider(Component):
    """Gives the recorded answer to the very same prompt; asked again, the next one."""

    recalls = 1  # how often each prompt was asked for, so that a restart goes on where it stood

    @classmethod
    def announces(cls, config: Config) -> tuple[Serves, ...]:
        """The models that the home configures for it."""
        return announced(config, PROVIDER)

    def __init__(self, home: Home | None, config: Config, vocabulary: Vocabulary) -> None:
        base = home.path if home is not None else Path()
        self._endpoints = endpoints(config.models, PROVIDER)
        self._answers = {
            name: RecordedAnswers(base / Path(endpoint.log).expanduser(), vocabulary)
            for name, endpoint in self._endpoints.items()
        }
        self._asked: Counter[Ask] = Counter()

    @on(ModelInvoke, where={"provider": PROVIDER})
    def invoke(self, event: ModelInvoke, delivery: Delivery) -> Iterator[Event]:
        """Look the answer up."""
        ask = (event.execution_id, event.model, event.prompt)
        try:
            yield self._replayed(event, self._asked[ask])
        except CallFailedError as error:
            yield failed(event, error)
        self._asked[ask] += 1

    @on(ExecutionCancelled)
    @on(ExecutionCompleted)
    @on(ExecutionFailed)
    def forget(
        self, event: ExecutionCancelled | ExecutionCompleted | ExecutionFailed, delivery: Delivery
    ) -> None:
        """Nothing more is asked in it."""
        for ask in [ask for ask in self._asked if ask[0] == event.execution_id]:
            del self._asked[ask]

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Count what was asked before this start."""
        if isinstance(event, ModelInvoke):
            self._asked[event.execution_id, event.model, event.prompt] += 1
        elif isinstance(event, ExecutionCancelled | ExecutionCompleted | ExecutionFailed):
            self.forget(event, delivery)

    def snapshot(self) -> bytes:
        """The counts."""
        return msgspec.msgpack.encode(list(self._asked.items()))

    def restore(self, snapshot: bytes) -> None:
        """Take up the counts."""
        counted = msgspec.msgpack.decode(snapshot, type=list[tuple[Ask, int]])
        self._asked = Counter(dict(counted))

    def _replayed(self, event: ModelInvoke, number: int) -> ModelResponded:
        answers = self._answers.get(event.model)
        if answers is None:
            raise CallFailedError("missing", "no model of this name is configured any more")
        try:
            found = answers.find(event.prompt, number)
        except LogError as error:
            # Its own message names a path, and what is recorded here may reach a prompt.
            problem = f"the log that `log` names cannot be read ({type(error).__name__})"
            raise CallFailedError("missing", problem) from None
        if found is None:
            raise CallFailedError(
                "missing",
                f"its log holds {answers.count(event.prompt)} answers to prompt {event.prompt}, "
                f"and this asks for number {number + 1}: the prompt or the execution has changed",
            )
        usage = Usage(
            input=max(0, found.input_tokens),  # earlier versions recorded whatever was told
            cached_read=max(0, found.cached_read_tokens),
            cached_write=max(0, found.cached_write_tokens),
            output=max(0, found.output_tokens),
        )
        return msgspec.structs.replace(
            found,
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            turn=event.turn,
            call=event.call,
            model=event.model,
            cost=cost(usage, self._endpoints[event.model].description.price),
        )
