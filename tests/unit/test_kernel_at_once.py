"""An idle ordered component answers events in the transaction that appends them, or as usual."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from cortex.bus import (
    Batch,
    Claimed,
    Draft,
    Event,
    Finish,
    LogError,
    Once,
    Publish,
    Recorded,
    StandingClaim,
    decode,
)
from cortex.bus.events import VOCABULARY
from cortex.runtime.kernel import Component, Delivery, Output, on

from .bus_world import SECOND_NS, WORDS, FailingLog, HubWorld, PlanWrite, PlanWritten, work
from .kernel_world import feed, host, ordered, recall

at_once: Any = import_module("cortex.runtime.kernel.shells.at_once")
closable: Any = import_module("cortex.runtime.kernel.hosts.closable_history")
deciding: Any = import_module("cortex.bus.hub.deciding")


class PlanDropped(Event, frozen=True, kw_only=True, tag="plan.dropped"):
    """A plan is gone."""

    belongs = ("plan", "plan")

    plan: str


PLANS = WORDS.extended([*VOCABULARY, PlanDropped])
PAIRS = (("plan.write", None), ("plan.dropped", None))


class Decides(Component):
    """Answers plans: at once, unless their text says otherwise."""

    decides = (PlanWrite,)

    def __init__(self, history: Callable[[str], Iterator[Recorded]]) -> None:
        self._history = history
        self.saw: list[str] = []
        self.fails = False

    @on(PlanWrite)
    def answer(self, event: PlanWrite, _: Delivery) -> Iterator[Output]:
        """Answer once; "look" needs the log, and what follows from "again" it sees itself."""
        self.saw.append(event.text)
        if event.text == "look":
            assert [*self._history(event.stream())]
        if self.fails:
            raise RuntimeError("no")
        yield PlanWritten(plan=event.text)
        if event.text == "again":
            yield PlanDropped(plan=event.text)

    @on(PlanDropped)
    def drop(self, event: PlanDropped, _: Delivery) -> None:
        """Note it."""
        self.saw.append(f"-{event.plan}")


class CountingLog(FailingLog):
    """Counts its transactions; a torn one is written whole, and ends as by Ctrl-C."""

    writes = 0
    torn = False

    def write(self, batch: Batch) -> None:
        """Keep *batch*."""
        super().write(batch)
        self.writes += 1
        if self.torn:
            self.torn = False
            raise KeyboardInterrupt


class World(HubWorld):
    """A component that decides at once, its feed, and the hub that asks it."""

    log: CountingLog

    def __init__(self, before: Callable[[HubWorld], object] = lambda _: None) -> None:
        super().__init__(PLANS)
        self.log = CountingLog()
        self.reopened()
        before(self)  # the hub is killed after it
        hub, history = self.reopened(), closable.ClosableHistory(self.stream)
        self.component = Decides(history)
        local = host.LocalHost(lambda: self.component, PLANS, print, history=history)
        local.start()
        feeding = feed.Feeding("Decides", PAIRS, "now", 3, SECOND_NS)
        fold = recall.Recall("Decides", 0, None, local, self.log, recall.MemorySnapshots())
        self.feed = ordered.OrderedFeed(feeding, local, fold)
        self.at_once = at_once.AtOnce(Decides, self.feed, local)
        hub.deciding.begin(self.at_once, hub.head)
        self.program = self.feed.run()
        self.drive(next(self.program))
        self.publish("first")  # its attempt is counted, as that of the first after each start
        self.wake()
        self.component.saw.clear()
        self.log.writes = 0

    def drive(self, step: Any) -> None:
        """Go on until the feed is idle."""
        while not isinstance(step, feed.Idle):
            asked = () if isinstance(step, feed.Pause) else self.ask(*step, client="Decides")
            step = self.program.send(asked)

    def wake(self) -> bool:
        """Wake the shell; whether it needed that."""
        needed: bool = self.at_once.needs_wakeup(self.hub.head)
        if needed:
            self.drive(self.program.send(()))
        return needed

    def publish(self, *texts: str) -> None:
        """Publish a plan for each of *texts*, in one transaction."""
        self.one(Publish(tuple(Draft.of(PlanWrite(plan="p", text=text)) for text in texts)))

    def stream(self, name: str) -> Iterator[Recorded]:
        """The events of one stream."""
        return map(decode, self.log.read_stream(name, 0, 1_000))

    def answers(self) -> list[str]:
        """What the component answered, in the order of the log."""
        records = map(decode, self.log.read(0, 10_000, 1 << 30))
        found = [PLANS.read(r) for r in records if r.source == "Decides"]
        return [event.plan for event in found if isinstance(event, PlanWritten)][1:]

    def cursor(self) -> int:
        """Where the component is, on disk."""
        return next(s.cursor for s in self.log.state().standings if s.name == "Decides")


@pytest.fixture
def world() -> World:
    return World()


def test_an_event_its_results_and_the_cursor_are_one_transaction(world: World) -> None:
    world.publish("one", "two")

    assert world.answers() == ["one", "two"]
    assert world.cursor() == world.hub.head - 2  # its own results are behind it
    assert world.log.writes == 1


def test_a_shell_is_woken_for_nothing_that_was_answered(world: World) -> None:
    world.publish("one")

    assert not world.wake()
    assert world.component.saw == ["one"]


def test_what_follows_from_its_own_events_comes_as_usual(world: World) -> None:
    world.publish("again")

    assert world.wake()
    assert world.component.saw == ["again", "-again"]


def test_a_component_is_asked_only_after_it_has_seen_everything_before(world: World) -> None:
    world.one(Publish((Draft.of(PlanDropped(plan="old")),)))
    world.publish("new")

    assert world.component.saw == []
    assert world.wake()
    assert world.component.saw == ["-old", "new"]
    world.publish("newer")
    assert world.answers() == ["new", "newer"]


def test_one_whose_shell_is_at_work_is_not_asked(world: World) -> None:
    with world.at_once.turn:
        world.publish("one")

    assert world.component.saw == []
    assert world.wake()
    assert world.answers() == ["one"]


def test_one_that_has_not_come_to_rest_is_not_asked(world: World) -> None:
    fresh = World()
    fresh.program.close()

    fresh.publish("one")

    assert fresh.component.saw == []
    assert fresh.at_once.needs_wakeup(fresh.hub.head)


def test_who_needs_the_log_gets_the_event_when_it_is_there(world: World) -> None:
    world.publish("one", "look", "two")

    assert world.answers() == ["one"]
    assert world.wake()
    assert world.answers() == ["one", "look", "two"]
    assert world.component.saw == ["one", "look", "look", "two"]


def test_a_handler_that_fails_is_tried_again_and_parked_as_usual(world: World) -> None:
    world.component.fails = True

    world.publish("bad")
    assert world.wake()

    assert world.component.saw == ["bad"] * 4  # at once, and the three attempts that count
    assert world.topics()[-1] == "component.failed"
    assert world.cursor() == world.hub.head - 1


def test_nothing_is_left_of_a_transaction_that_is_not_written(world: World) -> None:
    head, cursor = world.hub.head, world.cursor()
    world.log.full = True
    with pytest.raises(LogError):
        world.publish("lost")
    world.log.full = False

    assert (world.hub.head, world.cursor(), world.answers()) == (head, cursor, [])
    world.publish("found")
    assert world.answers() == ["found"]
    assert world.cursor() == head + 1


def test_after_a_torn_transaction_nothing_is_passed_over_or_done_twice(world: World) -> None:
    world.log.torn = True
    with pytest.raises(KeyboardInterrupt):
        world.publish("torn")
    world.publish("next")

    assert world.component.saw == ["torn"]
    assert world.answers() == ["torn"]
    with pytest.raises(Exception, match="is at"):  # its feed starts anew, from the cursor on disk
        world.wake()


def test_a_worker_is_given_what_follows_from_its_own_result(world: World) -> None:
    world.one(work("Worker", "plan.written"))
    claim = StandingClaim("Worker", 1, SECOND_NS, claimant="Worker/1")
    world.one(claim)
    world.publish("one")
    held = world.one(claim)
    assert isinstance(held, Claimed)
    (lease,) = held.leases
    world.log.writes = 0

    result = Draft.of(PlanWrite(plan="p", text="two"))
    finish = Finish("Worker", lease.record.position, lease.epoch, (result,))
    _, more = world.ask(finish, claim)

    assert isinstance(more, Claimed)
    (lease,) = more.leases
    assert PLANS.read(lease.record) == PlanWritten(plan="two")
    assert (lease.epoch, lease.attempts) == (1, 1)
    assert world.log.writes == 1
    work_left = world.log.state().work
    assert [(each.position, each.epoch) for each in work_left] == [(lease.record.position, 1)]


def test_what_comes_again_is_on_disk_before_it_is_handled(world: World) -> None:
    plan = Publish((Draft.of(PlanWrite(plan="p", text="again?")),))
    world.one(Once(7, True, (("tests", (plan,)),)))

    assert world.component.saw == []
    assert world.wake()
    assert world.answers() == ["again?"]


def test_what_a_worker_tries_again_after_a_kill_is_on_disk_before_it_is_handled() -> None:
    def killed_at_work(world: HubWorld) -> None:
        world.one(work("Worker", "plan.written"))
        world.one(Publish((Draft.of(PlanWritten(plan="p")),)))
        world.claim("Worker", lease_s=0.001)

    world = World(killed_at_work)
    world.later(1)
    (lease,) = world.claim("Worker")
    result = Draft.of(PlanWrite(plan="p", text="result"))
    world.one(Finish("Worker", lease.record.position, lease.epoch, (result,)))

    assert world.component.saw == []
    assert world.wake()
    assert world.answers() == ["result"]
    world.publish("next")
    assert world.component.saw == ["result", "next"]


def test_many_events_are_not_handled_while_the_hub_waits(world: World) -> None:
    world.publish(*("many" for _ in range(deciding.AT_ONCE + 1)))

    assert world.component.saw == []
    assert world.wake()
    assert len(world.answers()) == deciding.AT_ONCE + 1


def test_a_cursor_that_is_far_behind_is_moved_by_its_shell(world: World) -> None:
    for _ in range(ordered.IDLE_COMMIT // 250):
        world.one(Publish(tuple(Draft.of(PlanWritten(plan="p")) for _ in range(250))))

    assert world.wake()
    assert world.cursor() > ordered.IDLE_COMMIT - 250
