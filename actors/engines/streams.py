"""What was said about an execution."""

from collections.abc import Callable, Iterator

from cortex.bus import Event, Recorded, Vocabulary

History = Callable[[str], Iterator[Recorded]]


class Streams:
    """Reads events of the kinds that are asked for; nothing was said where there is no history."""

    def __init__(self, history: History | None, vocabulary: Vocabulary) -> None:
        self._history = history
        self._vocabulary = vocabulary

    def read(self, stream: str, kinds: tuple[type[Event], ...], until: int) -> Iterator[Event]:
        """The events of *stream* that are of *kinds*, up to the position *until*."""
        topics = {kind.topic_name() for kind in kinds}
        for record in self._history(stream) if self._history is not None else ():
            if record.position > until:
                return
            if record.topic in topics:
                yield self._vocabulary.read(record)
