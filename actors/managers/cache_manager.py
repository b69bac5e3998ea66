"""The manager of the cache: once the runtime is ready, it says what will be used."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import msgspec

from cortex.bus import CortexError, Log
from cortex.bus.events import ExecutionStarted, RuntimeStarted, SubjectErased
from cortex.runtime.cache import Beside, Cache
from cortex.runtime.kernel import Component, Config, Delivery, Home, on
from cortex.runtime.log import Blobs
from cortex.runtime.processes import LinkedProcess
from cortex.runtime.projections import HomeLog, Selection

PROCESSES: Final = 100  # of those that ran most often
HINTS: Final = 1_000  # topics of theirs
STARTED: Final = ExecutionStarted.topic_name()
_READ = msgspec.json.Decoder(LinkedProcess).decode


class CacheManager(Component):
    """Sweeps the cache, and derives from the history of executions what a preload begins with.

    It does so beside the work, for a bounded time. The processes that use artefacts load them into
    their own memory; see `Cache.preload`.
    """

    rests = True

    def __init__(
        self, cache: Cache, blobs: Blobs, log: Log, config: Config, home: Home | None = None
    ) -> None:
        self._cache, self._blobs, self._log, self._home = cache, blobs, log, home
        self._window_ns = config.cache.window_ns
        self._beside: Beside | None = None

    def wait(self) -> None:
        """Return when the work beside is done."""
        if self._beside is not None:
            self._beside.wait()

    def on_stop(self) -> None:
        """End the work beside, done or not."""
        if self._beside is not None:
            self._beside.end()

    @on(RuntimeStarted)
    def started(self, event: RuntimeStarted, delivery: Delivery) -> None:
        """Begin once: earlier starts may be handled now, too."""
        if self._beside is not None or self._home is None:
            return
        history = HomeLog(self._home, self._log, self._blobs)
        since_ns = delivery.time_ns - self._window_ns

        def work(go_on: Callable[[], bool]) -> None:
            self._cache.sweep(go_on)
            self._cache.hint(list(islice(topics_run(history, since_ns, go_on), HINTS)))

        self._beside = Beside(work, "cortex-cache-manager")
        self._beside.start()

    @on(SubjectErased)
    def erased(self, event: SubjectErased, delivery: Delivery) -> None:
        """Forget what came from the data of a subject; an erasure removed the files before."""
        self._cache.forget_subject(event.subject)


def topics_run(history: HomeLog, since_ns: int, go_on: Callable[[], bool]) -> Iterator[str]:
    """Digests of the topics of the processes that ran since *since_ns*, the most frequent first.

    While *go_on*, from the newest execution back: where time runs out, the older ones do not count.
    """
    runs: Counter[str] = Counter()
    for record in history.newest(Selection(topics=(STARTED,), since_ns=since_ns)):
        event = history.event(record)
        if isinstance(event, ExecutionStarted) and event.linked:
            runs[event.linked] += 1
        if not go_on():
            break
    seen: set[str] = set()
    for linked, _ in runs.most_common(PROCESSES):
        for digest in _topics_of(linked, history.blobs):
            if digest not in seen:
                seen.add(digest)
                yield digest


def _topics_of(linked: str, blobs: Blobs) -> Iterator[str]:
    try:
        process = _READ(blobs.get(linked))
    except (CortexError, msgspec.DecodeError):
        return  # `doctor` reports the blob
    for topic in (*process.knowledge, *(t for step in process.steps for t in step.knowledge)):
        yield topic.digest
