"""The manager of collections: when memory is collected, consolidated and packaged; it collects."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from cortex.bus import Event, Log, Logger, Recorded, Vocabulary, decode, steady_s
from cortex.bus.events import (
    VOCABULARY,
    GcCollect,
    GcCollected,
    MemoryConsolidate,
    MemoryConsolidated,
    MemoryRecurred,
    PackageSuggest,
    RuntimeStarted,
)
from cortex.runtime.kernel import Component, Config, Delivery, Home, Later, Output, on
from cortex.runtime.memory import (
    ENGINE,
    MOST_READ,
    CollectionPlan,
    MemoryStoreError,
    planned,
    recorded_in,
    recurring,
    rewordings,
)

from ..opened_memory import OpenedMemory

SOON_NS: Final = 60 * 10**9  # after a start: others begin first
HOUR_NS: Final = 3_600 * 10**9
CONSOLIDATE: Final = MemoryConsolidate.topic_name()
PAGE_BYTES: Final = 4 << 20
DUE: Final = -1  # the generation that is due by its counts

log = Logger("cortex.actors")


class GCManager(Component):
    """Collects memory by a schedule, or when it is asked; has it consolidated and packaged.

    It has a model put summaries into fewer words, if the home's configuration says so.

    It keeps no heap between two collections: each is made from the projection of memory.
    """

    workers = 1
    rests = True
    lease_s = 600.0  # a collection of a million nodes takes a minute

    def __init__(
        self,
        log: Log,
        history: Callable[[str], Iterable[Recorded]],
        config: Config | None = None,
        home: Home | None = None,
        vocabulary: Vocabulary = VOCABULARY,
    ) -> None:
        self._config = config or Config()
        self._history, self._vocabulary, self._log = history, vocabulary, log
        self._memory = OpenedMemory(home, self._config, history, vocabulary, log)

    def on_stop(self) -> None:
        """Close the store of memory."""
        self._memory.close()

    @on(RuntimeStarted)
    def started(self, event: RuntimeStarted, delivery: Delivery) -> Iterator[Output]:
        """Set the time of the next collection; one that was missed is due a minute from now."""
        yield from self._next(
            "gc", self._config.gc.every_hours, GcCollect(generation=DUE), delivery
        )
        hours = self._config.memory.consolidate_hours
        yield from self._next("consolidation", hours, MemoryConsolidate(), delivery)
        hours = self._config.memory.packages_hours
        yield from self._next("package_suggestions", hours, PackageSuggest(), delivery)

    def _next(self, stream: str, hours: float, event: Event, delivery: Delivery) -> Iterator[Later]:
        every_ns = int(hours * HOUR_NS)
        if every_ns:
            last = max((r.time_ns for r in self._history(stream)), default=delivery.time_ns)
            at_ns = max(last + every_ns, delivery.time_ns + SOON_NS)
            yield Later(stream, at_ns, event)

    @on(MemoryConsolidate)
    def consolidated(self, event: MemoryConsolidate, delivery: Delivery) -> Iterator[Output]:
        """Find what recurs in executions, and set the time of the next consolidation.

        The engine of memory does the rest.
        """
        every_ns = int(self._config.memory.consolidate_hours * HOUR_NS)
        if every_ns:
            yield Later("consolidation", delivery.time_ns + every_ns, MemoryConsolidate())
        if not 1 <= event.most <= MOST_READ:
            return  # the engine refuses it
        try:
            with self._memory.view(delivery.position) as view:
                yield recurring(view, event.scope, event.most)
        except MemoryStoreError as error:
            yield MemoryRecurred(scope=event.scope)
            log.warning("consolidation_failed", error=str(error))

    @on(MemoryConsolidated)
    def reword(self, event: MemoryConsolidated, delivery: Delivery) -> Iterator[Output]:
        """Have a model put summaries into fewer words, if it is configured: one execution each.

        Not after the consolidations that this leads to: the budget is for one that was asked for.
        """
        most = self._config.memory.reword_most
        if not most or delivery.source != ENGINE or self._topic(delivery.causation) != CONSOLIDATE:
            return
        try:
            with self._memory.view(delivery.position) as view:
                yield from rewordings(view, most, self._topics_of)
        except MemoryStoreError as error:
            log.warning("rewording_failed", error=str(error))

    def _topic(self, position: int | None) -> str:
        page = self._log.read(position - 1, 1, PAGE_BYTES) if position else []
        return decode(page[0]).topic if page else ""

    def _topics_of(self, execution_id: str) -> frozenset[str]:
        return frozenset(record.topic for record in self._history(f"execution/{execution_id}"))

    @on(PackageSuggest)
    def suggested(self, event: PackageSuggest, delivery: Delivery) -> Iterator[Output]:
        """Set the time of the next suggestions; the engine of packages does the work."""
        every_ns = int(self._config.memory.packages_hours * HOUR_NS)
        if every_ns:
            yield Later("package_suggestions", delivery.time_ns + every_ns, PackageSuggest())

    @on(GcCollect)
    def collect(self, event: GcCollect, delivery: Delivery) -> Iterator[Output]:
        """Collect, and set the time of the next collection."""
        every_ns = int(self._config.gc.every_hours * HOUR_NS)
        if every_ns:
            yield Later("gc", delivery.time_ns + every_ns, GcCollect(generation=DUE))
        before = recorded_in(self._history("gc"), self._vocabulary, delivery.position)
        number = max((each.event.number for each in before), default=0)
        try:
            with self._memory.view(delivery.position) as view:
                plan = CollectionPlan.of(view, before, self._config.gc)
                for part in planned(plan, event.generation, delivery.time_ns, steady_s):
                    number += 1
                    yield GcCollected(number=number, **part)
                    reasons = Counter(part["reasons"])
                    log.info("gc_collected", number=number, nodes=dict(reasons))
        except MemoryStoreError as error:
            log.warning("gc_failed", error=str(error))
