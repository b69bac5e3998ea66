"""The provider `replay`: recorded answers from the log of another home."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from cortex.bus import Event, Log, LogError, Vocabulary, decode
from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ModelInvoke,
    ModelResponded,
)
from cortex.runtime.context import text_of
from cortex.runtime.kernel import Component, Config, Delivery, Home, Serves, on
from cortex.runtime.log import Blobs, EventLog
from cortex.runtime.models import Usage, cost, endpoints
from cortex.runtime.subjects import PersonalLog, SubjectKeys

from .calls import CallFailedError, announced, blocks_in, failed

PROVIDER = "replay"
Ask = tuple[str, str, str]  # execution, model, prompt
PAGE = 1_024  # records
PAGE_BYTES = 8 << 20
LOG = "log.db"
TOPIC = ModelResponded.topic_name()


class ReplayProvider(Component):
    """Returns the recorded answer to the same prompt; the next one if asked again."""

    rests = True
    recalls = 1  # how often each prompt was asked, so that a restart continues there

    @classmethod
    def announces(cls, config: Config) -> tuple[Serves, ...]:
        """The models that the home configures for it."""
        return announced(config, PROVIDER)

    def __init__(
        self, home: Home | None, config: Config, vocabulary: Vocabulary, blobs: Blobs
    ) -> None:
        self._blobs = blobs
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
        """Drop the counts of an ended execution."""
        for ask in [ask for ask in self._asked if ask[0] == event.execution_id]:
            del self._asked[ask]

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Count the requests before this start."""
        if isinstance(event, ModelInvoke):
            self._asked[event.execution_id, event.model, event.prompt] += 1
        elif isinstance(event, ExecutionCancelled | ExecutionCompleted | ExecutionFailed):
            self.forget(event, delivery)

    def snapshot(self) -> bytes:
        """The counts."""
        return msgspec.msgpack.encode(list(self._asked.items()))

    def restore(self, snapshot: bytes) -> None:
        """Restore the counts."""
        counted = msgspec.msgpack.decode(snapshot, type=list[tuple[Ask, int]])
        self._asked = Counter(dict(counted))

    def _text(self, event: ModelInvoke) -> str:
        """The digest of the same prompt under compiler 1, which had one text; "" if it is gone."""
        try:
            text = text_of(blocks_in(self._blobs, event))
        except CallFailedError:
            return ""
        return hashlib.sha256(text.encode()).hexdigest()

    def _replayed(self, event: ModelInvoke, number: int) -> ModelResponded:
        answers = self._answers.get(event.model)
        if answers is None:
            raise CallFailedError("missing", "no model of this name is configured any more")
        try:
            found = answers.find(event.prompt, number) or answers.find(self._text(event), number)
        except LogError as error:
            # Its own message contains a path, and this text may get into a prompt.
            problem = f"the log that `log` names cannot be read ({type(error).__name__})"
            raise CallFailedError("missing", problem) from None
        if found is None:
            raise CallFailedError(
                "missing",
                f"its log holds {answers.count(event.prompt)} answers to prompt {event.prompt}, "
                f"and this asks for number {number + 1}: the prompt or the execution has changed",
            )
        usage = Usage(
            input=max(0, found.input_tokens),  # earlier versions recorded unchecked values
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
    """Reads a log beside its owner, and continues when it has grown."""

    def __init__(self, path: Path, vocabulary: Vocabulary) -> None:
        self._path = path / LOG if path.is_dir() else path
        self._vocabulary = vocabulary
        self._read = 0  # position
        self._positions: defaultdict[str, list[int]] = defaultdict(list)

    def find(self, prompt: str, number: int) -> ModelResponded | None:
        """The *number*-th recorded answer to *prompt*, counted from 0.

        None if there are fewer.

        Raises:
            LogError: The log cannot be read.
        """
        keys = SubjectKeys.of_home(self._path.parent)
        with closing(PersonalLog(EventLog.open(self._path, readonly=True), keys)) as log:
            if len(self._positions[prompt]) <= number:
                self._read_on(log)
            positions = self._positions[prompt]
            if len(positions) <= number:
                return None
            (data,) = log.read(positions[number] - 1, 1, PAGE_BYTES)
            event = self._vocabulary.read(decode(data))
            return event if isinstance(event, ModelResponded) else None

    def count(self, prompt: str) -> int:
        """The number of answers to *prompt* found so far."""
        return len(self._positions[prompt])

    def _read_on(self, log: Log) -> None:
        while page := log.read(self._read, PAGE, PAGE_BYTES):
            for record in map(decode, page):
                self._read = record.position
                if record.topic == TOPIC:
                    self._note(record.position, self._vocabulary.read(record))

    def _note(self, position: int, event: object) -> None:
        if isinstance(event, ModelResponded):
            self._positions[event.prompt].append(position)
