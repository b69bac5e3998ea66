"""What was said about an execution, read beside the hub or from the log itself."""

from collections.abc import Callable, Iterator
from contextlib import closing

from cortex.bus import Event, Recorded, Vocabulary, decode
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog

History = Callable[[str], Iterator[Recorded]]

PAGE = 256


class Streams:
    """Reads streams; where there is neither a hub nor a home, nothing was said."""

    def __init__(self, history: History | None, home: Home | None, vocabulary: Vocabulary) -> None:
        self._history = history
        self._home = home
        self._vocabulary = vocabulary

    def read(self, stream: str, kinds: tuple[type[Event], ...], until: int) -> Iterator[Event]:
        """The events of *stream* that are of *kinds*, up to the position *until*."""
        topics = {kind.topic_name() for kind in kinds}
        for record in self._records(stream):
            if record.position > until:
                return
            if record.topic in topics:
                yield self._vocabulary.read(record)

    def _records(self, stream: str) -> Iterator[Recorded]:
        if self._history is not None:
            yield from self._history(stream)
        elif self._home is not None:
            # In a process of its own there is no hub to ask; the log may be read by anybody.
            with closing(EventLog.open(self._home.log_path, readonly=True)) as log:
                after = 0
                while page := log.read_stream(stream, after, PAGE):
                    for data in page:
                        record = decode(data)
                        after = record.version
                        yield record
