"""What is simulated: components, what they are given, and what must come of it."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from cortex.bus import Event, Hub, Log, Pair, Recorded, Vocabulary
from cortex.runtime.kernel import Component, routes_of

from .kernel import ClosableHistory

Examine = Callable[[Hub, Log], None]  # raises AssertionError


def pairs_of(component: type[Component]) -> tuple[Pair, ...]:
    """What a component sees."""
    return tuple((route.event.topic_name(), route.key) for route in routes_of(component))


def nothing_more(_hub: Hub, _log: Log) -> None:
    """Examine nothing."""


class Role(msgspec.Struct, frozen=True):
    """One component of a scenario."""

    make: Callable[["Run"], Component]
    component: type[Component]
    # Topics that handling this event commits; None where that depends on more than the event.
    results: Callable[[Event], tuple[str, ...]] | None
    may_park: bool = False  # crashes may use up an event's attempts; `component.failed` will do
    deadlines: frozenset[str] = frozenset()  # topics of its deadlines, which are no results

    @property
    def name(self) -> str:
        """The component's name."""
        return self.component.component_name()


class Scenario(msgspec.Struct, frozen=True):
    """A small world; running it with one seed always gives the same schedule."""

    vocabulary: Vocabulary
    roles: tuple[Role, ...]
    scripts: Mapping[str, Sequence[tuple[Event, ...]]]  # what each publisher publishes, in order
    finish: Callable[["Run"], None]  # raises AssertionError where the outcome is wrong
    examine: Examine = nothing_more  # before each crash of the hub and at the end
    followers: Mapping[str, tuple[Pair, ...]] = {}  # clients that only look, by what they see
    remote: bool = False  # each client at the end of a wire: its frames are numbered
    lasting_s: float = 15.0  # how long faults strike


class Run(msgspec.Struct):
    """What a schedule left behind."""

    scenario: Scenario
    seed: int
    log: Log
    history: ClosableHistory  # for components that read the log themselves
    records: list[Recorded] = []
    acknowledged: dict[str, list[tuple[int, int]]] = {}  # by publisher: first and last position
    followed: dict[str, dict[int, bytes]] = {}  # by follower: ids of what it was shown
    losses: int = 0  # how often followers were told that the log had lost what they were shown
    created: dict[str, int] = {}  # by subscription: events after this position are its business
    steps: int = 0  # that all programs took
    trace: str = ""

    def events(self, kind: type[Event]) -> list[tuple[int, Event]]:
        """Events of one class with their positions."""
        topic, read = kind.topic_name(), self.scenario.vocabulary.read
        return [(r.position, read(r)) for r in self.records if r.topic == topic]
