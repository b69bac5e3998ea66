"""Components that only decide, made without a hub: they read the log, and nothing else happens."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from cortex.bus import CortexError, Recorded
from cortex.runtime.kernel import (
    Component,
    Config,
    Entry,
    LocalHost,
    Outcome,
    built_in,
    construct,
    load,
    preferences_of_user,
    routes_of,
)
from cortex.runtime.log import Blobs, MemoryBlobs
from cortex.runtime.projections import HomeLog

# What they decide depends on events, blobs and the configuration alone.
DECIDERS = (
    "ProcessManager",
    "ProcessExecutionEngine",
    "CompilationEngine",
    "MemoryChainEngine",
    "DirectiveEngine",
)
OF_EXECUTIONS = "execution"  # what events of executions belong to


class RecordedBlobs(MemoryBlobs):
    """The blobs of a home, for reading; what a decider stores stays in memory."""

    def __init__(self, home: Blobs) -> None:
        super().__init__()
        self._home = home
        self.problem: CortexError | None = None  # the first blob that could not be read

    def get(self, digest: str) -> bytes:
        """The bytes of *digest*; raises as the home's store does."""
        if super().has(digest):
            return super().get(digest)
        try:
            return self._home.get(digest)
        except CortexError as error:
            self.problem = self.problem or error
            raise

    def has(self, digest: str) -> bool:
        """Whether a blob of *digest* is here."""
        return super().has(digest) or self._home.has(digest)

    def size(self, digest: str) -> int:
        """Length in bytes of what `get` returns; raises as the home's store does."""
        return super().size(digest) if super().has(digest) else self._home.size(digest)

    def touch(self, digest: str) -> bool:
        """Whether the blob is here; its file is not touched."""
        return self.has(digest)


class PastStreams:
    """The streams of a log as they were when an event was decided about."""

    def __init__(self, read: Callable[[str], Iterable[Recorded]]) -> None:
        self._read = read
        self.through = 0  # position of that event

    def __call__(self, stream: str) -> Iterator[Recorded]:
        """The events of one stream up to that event, in order."""
        return (record for record in self._read(stream) if record.position <= self.through)


class Decider:
    """One component and its state, called over recorded events."""

    def __init__(
        self, component: type[Component], ports: Mapping[str, Any], past: PastStreams
    ) -> None:
        """Make the component from *ports* and start it; it reads streams through *past*."""
        made = construct(component, {**ports, "history": past})
        self._past = past
        self.name = made.component_name()
        self._recalls = bool(made.recalls)
        self._pairs = {(r.event.topic_name(), r.key) for r in routes_of(type(made))}
        # Topics that its state depends on, whichever execution they are of.
        self.folds = frozenset(
            route.event.topic_name()
            for route in routes_of(type(made))
            if self._recalls or route.event.belongs[0] != OF_EXECUTIONS
        )
        self._host = LocalHost(lambda: made, ports["vocabulary"], lambda _: None)
        self._host.start()

    def takes(self, record: Recorded) -> bool:
        """Whether the component handles such events."""
        return not {(record.topic, None), (record.topic, record.key)}.isdisjoint(self._pairs)

    def decide(self, record: Recorded) -> Outcome:
        """Let the component handle *record*."""
        self._past.through = record.position
        return self._host.handle([record], 1)

    def note(self, record: Recorded) -> None:
        """Fold *record* into the component's state; what it decides about it is not looked at."""
        self._past.through = record.position
        if self._recalls:
            self._host.recall([record])
        elif record.topic in self.folds:
            self._host.handle([record], 1)

    def stop(self) -> None:
        """Stop the component."""
        self._host.stop()


def deciders_of(
    source: HomeLog,
    config: Config,
    blobs: Blobs,
    names: Iterable[str] = DECIDERS,
    read: Callable[[str], Iterable[Recorded]] | None = None,
) -> tuple[Decider, ...]:
    """The deciders named *names*, over the log of *source*, or over the streams that *read* gives.

    They get no port that asks, publishes or writes, and no secrets: those are masked in the log.
    """
    wanted = frozenset(names)
    past = PastStreams(read or source.stream)
    return tuple(
        Decider(load(entry.component), _ports(source, config, blobs, entry), past)
        for entry in built_in()
        if entry.component.partition(":")[2] in wanted
    )


def _ports(source: HomeLog, config: Config, blobs: Blobs, entry: Entry) -> dict[str, Any]:
    return {
        "home": source.home,
        "config": config,
        "blobs": blobs,
        "vocabulary": source.vocabulary,
        "settings": dict(entry.settings),
        "user_preferences": preferences_of_user(source.home),
    }
