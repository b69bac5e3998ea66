"""The provider `replay`: answers as they were recorded, from the log of another home."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from cortex.bus import Event, LogError, Vocabulary, decode
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ModelInvoke,
    ModelResponded,
)
from cortex.runtime.kernel import Component, Config, Delivery, Home, Serves, on
from cortex.runtime.log import EventLog
from cortex.runtime.models import Usage, cost, endpoints

from .calling import CallFailedError, announced, failed

PROVIDER = "replay"
Ask = tuple[str, str, str]  # execution, model, prompt
PAGE = 1_024  # records
PAGE_BYTES = 8 << 20
LOG = "log.db"
TOPIC = ModelResponded.topic_name()


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


class RecordedAnswers:
    """Reads a log beside its owner, and reads on where it has grown."""

    def __init__(self, path: Path, vocabulary: Vocabulary) -> None:
        self._path = path / LOG if path.is_dir() else path
        self._vocabulary = vocabulary
        self._read = 0  # position
        self._positions: defaultdict[str, list[int]] = defaultdict(list)

    def find(self, prompt: str, number: int) -> ModelResponded | None:
        """The answer to *prompt* that was recorded as the *number*-th, counted from 0.

        None where there are fewer.

        Raises:
            LogError: The log cannot be read.
        """
        with closing(EventLog.open(self._path, readonly=True)) as log:
            if len(self._positions[prompt]) <= number:
                self._read_on(log)
            positions = self._positions[prompt]
            if len(positions) <= number:
                return None
            (data,) = log.read(positions[number] - 1, 1, PAGE_BYTES)
            event = self._vocabulary.read(decode(data))
            return event if isinstance(event, ModelResponded) else None

    def count(self, prompt: str) -> int:
        """Answers to *prompt* that were found so far."""
        return len(self._positions[prompt])

    def _read_on(self, log: EventLog) -> None:
        while page := log.read(self._read, PAGE, PAGE_BYTES):
            for record in map(decode, page):
                self._read = record.position
                if record.topic == TOPIC:
                    self._note(record.position, self._vocabulary.read(record))

    def _note(self, position: int, event: object) -> None:
        if isinstance(event, ModelResponded):
            self._positions[event.prompt].append(position)
