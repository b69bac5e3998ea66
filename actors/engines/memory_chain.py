"""The engine of memory chains: decides about requests, so that there is one order of facts."""

from collections.abc import Callable, Iterator

import msgspec

from cortex.bus import Event, Recorded, Vocabulary
from cortex.bus.events import (
    VOCABULARY,
    GcCollect,
    GcCollected,
    GrantGiven,
    GrantRevoked,
    MemoryCollected,
    MemoryConsolidate,
    MemoryConsolidated,
    MemoryCorrect,
    MemoryCorrected,
    MemoryForget,
    MemoryForgotten,
    MemoryLink,
    MemoryLinked,
    MemoryPin,
    MemoryPinned,
    MemoryRecord,
    MemoryRecorded,
    MemoryRecurred,
    MemoryRestore,
    MemoryRestored,
    MemoryReword,
    MemorySuperseded,
    MemoryUndo,
    MemoryUndone,
    MemoryUnpinned,
    PackageCompile,
    PackageCompiled,
    PackageRefused,
    SubjectErased,
)
from cortex.runtime.kernel import Component, Delivery, Output, on
from cortex.runtime.memory import (
    COLLECTOR,
    ENGINE,
    PACKAGER,
    Candidates,
    Decider,
    MemoryState,
    PackageState,
    PastNodes,
    RequestRecord,
    packaged,
)

# What it decides: in its state as soon as it is decided.
FACTS = (
    MemoryCollected,
    MemoryConsolidated,
    MemoryCorrected,
    MemoryForgotten,
    MemoryLinked,
    MemoryPinned,
    MemoryRecorded,
    MemoryRestored,
    MemorySuperseded,
    MemoryUndone,
    MemoryUnpinned,
)


class MemoryChainEngine(Component):
    """Records, corrects, links, pins, forgets and restores nodes; refuses what breaks a chain.

    It asks for packages of memory that a fact has made stale.
    Its state is a fold of its own facts. It runs in its own process, because it compares texts.
    """

    cpu = True
    recalls = 5
    folds_results = FACTS
    start = "beginning"

    def __init__(
        self,
        history: Callable[[str], Iterator[Recorded]],
        vocabulary: Vocabulary = VOCABULARY,
    ) -> None:
        self._past = PastNodes(history, vocabulary)
        self._decider = self._decider_of(MemoryState())
        self._packages = PackageState()

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Fold a fact from before this start."""
        self._fold(event, delivery)

    def snapshot(self) -> bytes:
        """The state."""
        return _ENCODE(Folded(self._decider.state, self._packages))

    def restore(self, snapshot: bytes) -> None:
        """Restore it."""
        folded = _FOLDED(snapshot)
        self._decider = self._decider_of(folded.memory)
        self._packages = folded.packages

    @on(MemoryRecord)
    @on(MemoryCorrect)
    @on(MemoryLink)
    @on(MemoryPin)
    @on(MemoryForget)
    @on(MemoryRestore)
    @on(MemoryReword)
    @on(MemoryUndo)
    @on(MemoryConsolidate)
    def decide(self, event: Event, delivery: Delivery) -> Iterator[Output]:
        """The facts that follow, or why not."""
        asked = RequestRecord(
            by=delivery.source,
            time_ns=delivery.time_ns,
            node_id=delivery.new_id(),
            subject=delivery.subject or "",
            position=delivery.position,
        )
        yield from self._decider.decide(event, asked)

    @on(MemoryRecurred)
    def recurred(self, event: MemoryRecurred, delivery: Delivery) -> Iterator[Output]:
        """Promote what the collector found to recur in executions."""
        if delivery.source == COLLECTOR:
            yield from self.decide(event, delivery)

    @on(GcCollect)
    def collecting(self, event: GcCollect, delivery: Delivery) -> None:
        """From now on remember what is touched."""
        self._decider.state.apply(event, position=delivery.position)

    @on(GcCollected)
    def collected(self, event: GcCollected, delivery: Delivery) -> Iterator[Output]:
        """Let go what the collector found, without what was touched since it looked."""
        if delivery.source != COLLECTOR:
            return
        packages = {id_ for each in event.collected if (id_ := packaged(each))}
        others = [each for each in event.collected if not packaged(each)]
        fact = MemoryCollected(
            nodes=self._decider.state.left_alone(others, event.through),
            packages=self._packages.left_alone(packages, event.through),
            collection=event.number,
            through=event.through,
            more=event.more,
        )
        self._decider.state.apply(fact)
        yield fact

    @on(GrantGiven)
    @on(GrantRevoked)
    def limit(self, event: Event, delivery: Delivery) -> None:
        """From now on a client may write in other scopes."""
        self._fold(event, delivery)

    @on(MemoryCollected)
    @on(MemoryConsolidated)
    @on(MemoryCorrected)
    @on(MemoryForgotten)
    @on(MemoryLinked)
    @on(MemoryPinned)
    @on(MemoryRecorded)
    @on(MemoryRestored)
    @on(MemorySuperseded)
    @on(MemoryUndone)
    @on(MemoryUnpinned)
    @on(PackageCompiled)
    @on(PackageRefused)
    @on(SubjectErased)
    def fold(self, event: Event, delivery: Delivery) -> Iterator[Output]:
        """Fold a fact; its own are applied already, and change nothing a second time."""
        yield from self._fold(event, delivery)

    def _decider_of(self, state: MemoryState) -> Decider:
        return Decider(state, Candidates(state), self._past)

    def _fold(self, event: Event, delivery: Delivery) -> tuple[PackageCompile, ...]:
        """Fold *event*; the requests for packages that follow from it."""
        of_packages = isinstance(event, PackageCompiled | PackageRefused)
        source = PACKAGER if of_packages else ENGINE
        if delivery.source != source and not isinstance(event, _OF_OTHERS):
            return ()
        subject = delivery.subject or ""
        if not of_packages:
            self._decider.state.apply(event, subject, delivery.position)
        return self._packages.apply(event, delivery.position, subject)


class Folded(msgspec.Struct, array_like=True):
    """A snapshot."""

    memory: MemoryState
    packages: PackageState


_OF_OTHERS = (SubjectErased, GcCollect, GrantGiven, GrantRevoked)  # that the state follows
_ENCODE = msgspec.msgpack.Encoder().encode
_FOLDED = msgspec.msgpack.Decoder(Folded).decode
