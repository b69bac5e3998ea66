"""The real engine and feeds, with actions that do something to the world, and a person who answers.

What a handler does to the world is done when it runs, whatever becomes of its process or of the log
after that; the world is no part of either, and is looked at in the end.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from cortex.bus import Event, Recorded, decode
from cortex.bus.events import (
    VOCABULARY,
    EffectSettle,
    EffectSettled,
    ExecutionCompleted,
    ExecutionPaused,
    ExecutionRequest,
    StepCompleted,
    StepExecute,
    StepWake,
)
from cortex.runtime.executions import EFFECT, fold, open_effects
from cortex.runtime.kernel import Component, Delivery, Output, Serves, on
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.processes import LinkedAction, LinkedProcess, LinkedStep, Origin, Retry

from .executions import Beginner, Engine, engine_of
from .simulator import Role, Run, Scenario
from .toy import NEVER, examine

ORIGIN = Origin(process="p")
MARK = LinkedAction(name="mark", component="Marker", effect="once", spec="s")
STORE = LinkedAction(name="store", component="Storer", effect="idempotent", spec="s")
LOOK = LinkedAction(name="look", component="Looker", effect="read", spec="s")
TRIES = Retry(attempts=1_000)
PROCESS = LinkedProcess(
    name="p",
    version=1,
    digest="digest of p",
    source_digest="s",
    chain=("p",),
    steps=(
        LinkedStep(id="mark", action=MARK, origin=ORIGIN),
        LinkedStep(id="store", action=STORE, origin=ORIGIN),
        LinkedStep(id="look", action=LOOK, origin=ORIGIN, timeout_s=4.0, retry=TRIES),
        # They may be late; what may happen once is asked about then.
        LinkedStep(id="mark_soon", action=MARK, origin=ORIGIN, timeout_s=4.0, retry=TRIES),
        LinkedStep(id="store_soon", action=STORE, origin=ORIGIN, timeout_s=4.0, retry=TRIES),
    ),
)
IDS = ("a1", "a2", "b1")


class Effect(msgspec.Struct, frozen=True):
    """Something that was done to the world."""

    action: str
    execution_id: str
    step_id: str
    attempt: int
    key: str  # under which it was


class World:
    """What was done, in order."""

    def __init__(self) -> None:
        self.done: list[Effect] = []

    def do(self, event: StepExecute, delivery: Delivery) -> StepCompleted:
        """Do it; the end of its step comes back."""
        place = event.execution_id, event.step_id, event.attempt
        self.done.append(Effect(event.action, *place, delivery.effect_key()))
        return StepCompleted(execution_id=place[0], step_id=place[1], attempt=place[2])


class Actor(Component):
    """Does something to the world."""

    workers = 2
    lease_s = 2.0
    max_attempts = NEVER

    def __init__(self, world: World) -> None:
        self._world = world


class Marker(Actor):
    """What happens once."""

    serves = (Serves("action", "mark", effect="once"),)

    @on(StepExecute, where={"action": "mark"})
    def mark(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        yield self._world.do(event, delivery)


class Storer(Actor):
    """What may be repeated under its key."""

    serves = (Serves("action", "store", effect="idempotent"),)

    @on(StepExecute, where={"action": "store"})
    def store(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        yield self._world.do(event, delivery)


class Looker(Actor):
    """What may be run again."""

    serves = (Serves("action", "look", effect="read"),)

    @on(StepExecute, where={"action": "look"})
    def look(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        yield self._world.do(event, delivery)


class Person(Component):
    """Says what became of an effect that they are asked about."""

    start = "beginning"
    max_attempts = NEVER

    def __init__(self, run: Run) -> None:
        self._run = run

    @on(ExecutionPaused)
    def answer(self, event: ExecutionPaused, delivery: Delivery) -> Iterator[Output]:
        stream = f"execution/{event.execution_id}"
        records = map(decode, self._run.log.read_stream(stream, 0, 10_000))
        seen: list[Recorded] = [each for each in records if each.position <= delivery.position]
        effects = open_effects(fold(event.execution_id, seen, VOCABULARY))
        if event.reason == EFFECT and effects:
            yield EffectSettle(
                execution_id=event.execution_id,
                effect_key=effects[0].effect_key,
                outcome="again" if delivery.position % 3 == 0 else "happened",
                seen=delivery.position,
            )


def scripts() -> dict[str, Sequence[tuple[Event, ...]]]:
    return {
        "alice": [(ExecutionRequest(execution_id=name, process="p"),) for name in IDS[:2]],
        "bob": [(ExecutionRequest(execution_id=IDS[2], process="p"),)],
    }


def finished(run: Run, world: World) -> None:
    """All came to their end; nothing happened once more than somebody said, or under two keys."""
    ends = [e for _, e in run.events(ExecutionCompleted) if isinstance(e, ExecutionCompleted)]
    ended = Counter(e.execution_id for e in ends)
    assert ended == dict.fromkeys(IDS, 1), f"completed: {ended}"
    settled = [e for _, e in run.events(EffectSettled) if isinstance(e, EffectSettled)]
    again = Counter((e.execution_id, e.step_id) for e in settled if e.outcome == "again")
    said = {(e.execution_id, e.step_id) for e in settled}
    begun = Counter(e.key for e in world.done if e.action == "mark")
    assert not [key for key, times in begun.items() if times > 1], f"twice under a key: {begun}"
    done: dict[tuple[str, str], list[Effect]] = defaultdict(list)
    for effect in world.done:
        done[effect.execution_id, effect.step_id].append(effect)
    for name in IDS:
        for step in PROCESS.steps:
            place, action = (name, step.id), step.action.name if step.action else ""
            times = len(done[place])
            assert times or place in said, f"{place} completed, and was never done"
            if action == "mark":
                assert times <= 1 + again[place], f"{place} happened {times} times"
            elif action == "store":
                keys = Counter(attempt for attempt, _ in {(e.attempt, e.key) for e in done[place]})
                assert max(keys.values()) == 1, f"{place} was done under two keys: {done[place]}"


def scenario() -> Scenario:
    """A new world each time."""
    blobs, world = MemoryBlobs(), World()
    return Scenario(
        VOCABULARY,
        (
            Role(lambda _: Beginner(blobs, PROCESS), Beginner, lambda _: ("execution.started",)),
            Role(
                lambda run: engine_of(run, blobs),
                Engine,
                None,
                deadlines=frozenset({StepWake.topic_name()}),
            ),
            Role(lambda _: Marker(world), Marker, None),
            # None of them has a result for sure: what is given up meanwhile is dropped.
            Role(lambda _: Storer(world), Storer, None),
            Role(lambda _: Looker(world), Looker, None),
            Role(Person, Person, None),
        ),
        scripts(),
        lambda run: finished(run, world),
        examine,
        followers={"carol": (("*", None),)},
    )
