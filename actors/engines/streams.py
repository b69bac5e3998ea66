"""What was said about an execution."""

from collections.abc import Callable, Iterator
from itertools import takewhile

from cortex.bus import Event, Recorded, Vocabulary
from cortex.runtime.executions import counted

History = Callable[[str], Iterator[Recorded]]


class Streams:
    """Reads events of the kinds that are asked for; nothing was said where there is no history."""

    def __init__(self, history: History | None, vocabulary: Vocabulary) -> None:
        self._history = history
        self._vocabulary = vocabulary

    def read(self, stream: str, kinds: tuple[type[Event], ...], until: int) -> Iterator[Event]:
        """The events of an execution's *stream* that are of *kinds*, up to the position *until*.

        What somebody answered who was not asked is not among them.
        """
        records = self._history(stream) if self._history is not None else ()
        before = takewhile(lambda record: record.position <= until, records)
        for _, event in counted(before, self._vocabulary, kinds):
            yield event
