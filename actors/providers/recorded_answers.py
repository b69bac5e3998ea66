"""Answers that models gave in an earlier log, by the digest of their prompt."""

from collections import defaultdict
from contextlib import closing
from pathlib import Path

from cortex.bus import Vocabulary, decode
from cortex.bus.events import ModelResponded
from cortex.runtime.log import EventLog

PAGE = 1_024  # records
PAGE_BYTES = 8 << 20
LOG = "log.db"
TOPIC = ModelResponded.topic_name()


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
