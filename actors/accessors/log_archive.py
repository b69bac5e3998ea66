"""The accessor of the log's archive: it seals the oldest records, by policy and on request."""

from collections.abc import Callable, Iterator

from cortex.bus import Log
from cortex.bus.events import LogAnswer, LogSeal
from cortex.runtime.kernel import Component, Config, Delivery, on
from cortex.runtime.log import Archiver, EventLog
from cortex.runtime.subjects import stored_log

DAY_NS = 86_400_000_000_000
MB = 1_000_000


class LogArchiveAccessor(Component):
    """Compresses the oldest records of the log into files, from which they are read then."""

    def __init__(self, log: Log, config: Config, publish: Callable[..., int]) -> None:
        self._archiver: Archiver | None = None
        stored = stored_log(log)  # the bytes that are hashed
        if isinstance(stored, EventLog):  # one in memory has no archive
            kept = config.archive
            self._archiver = Archiver(
                stored, publish, age_ns=kept.age_days * DAY_NS, table_bytes=kept.log_mb * MB
            )

    def on_start(self) -> None:
        """Begin to keep the policy."""
        if self._archiver is not None:
            self._archiver.start()

    def on_stop(self) -> None:
        """End soon; the next start goes on."""
        if self._archiver is not None:
            self._archiver.close()

    @on(LogSeal)
    def seal(self, event: LogSeal, delivery: Delivery) -> Iterator[LogAnswer]:
        """Seal one segment."""
        if self._archiver is None:
            yield LogAnswer(through=0)
        else:
            yield self._archiver.answer(event.through, event.by)
