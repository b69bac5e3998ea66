"""A request that nobody takes is reported, in the transaction that records it."""

import pytest

from cortex.bus import (
    Appended,
    Draft,
    Event,
    Finish,
    Hub,
    LogError,
    Publish,
    Release,
    Subscribe,
    decode,
)
from cortex.bus.events import (
    VOCABULARY,
    ModelInvoke,
    StepCompleted,
    StepExecute,
    StepUnclaimed,
)
from cortex.runtime.log import AgentWork, MemoryLog

from .bus_world import HubWorld

STEP = StepExecute(execution_id="e1", step_id="fix", action="write_code")
MODEL = ModelInvoke(execution_id="e1", step_id="fix", model="gone", prompt="d1")


def hub_on(log: MemoryLog) -> Hub:
    return Hub(log, VOCABULARY, lambda size: b"\x01" * size, policy=AgentWork())


def topics(log: MemoryLog) -> list[str]:
    return [decode(data).topic for data in log.read(0, 100, 1 << 20)]


def test_a_step_without_a_handler_is_reported_beside_the_request() -> None:
    log = MemoryLog()
    hub = hub_on(log)

    (answer,) = hub.handle([("engine", Publish((Draft.of(STEP), Draft.of(MODEL))))], 1)

    assert answer == Appended(1, 2)
    assert topics(log) == ["step.execute", "model.invoke", "step.unclaimed", "model.unclaimed"]
    report = decode(log.read(2, 1, 1 << 20)[0])
    assert (report.source, report.causation, report.correlation) == ("hub", 1, "e1")


def test_a_step_that_a_worker_takes_is_not_reported() -> None:
    log = MemoryLog()
    hub = hub_on(log)
    hub.handle([("w", Subscribe("Writer", "work", (("step.execute", "write_code"),)))], 1)

    hub.handle([("engine", Publish((Draft.of(STEP),)))], 2)

    assert topics(log) == ["step.execute"]


def test_a_step_that_a_component_with_a_cursor_answers_for_is_not_reported() -> None:
    log = MemoryLog()
    hub = hub_on(log)
    hub.handle([("w", Subscribe("Writer", "ordered", (("step.execute", "write_code"),)))], 1)

    hub.handle([("engine", Publish((Draft.of(STEP),)))], 2)

    assert topics(log) == ["step.execute"]


def test_an_observer_does_not_count_as_somebody_who_takes_it() -> None:
    log = MemoryLog()
    hub = hub_on(log)
    hub.handle([("o", Subscribe("Observer", "ordered", (("step.execute", None),)))], 1)

    hub.handle([("engine", Publish((Draft.of(STEP),)))], 2)

    assert topics(log) == ["step.execute", "step.unclaimed"]


class Writers(HubWorld):
    """A hub with a subscription for the action of `STEP`, and a clock that rings."""

    def __init__(self) -> None:
        super().__init__(VOCABULARY)
        self.one(Subscribe("Writer", "work", (("step.execute", "write_code"),)))

    def run(self, seconds: float) -> None:
        """Let the time pass; the hub is ticked whenever it asked for that, as by its driver."""
        until_ns = self.now_ns + int(seconds * 1e9)
        while (due_ns := self.hub.next_due_ns()) is not None and due_ns <= until_ns:
            self.now_ns = max(self.now_ns, due_ns)
            self.hub.tick(self.now_ns)
        self.now_ns = until_ns

    def told(self) -> list[StepUnclaimed]:
        records = map(decode, self.log.read(0, 10_000, 1 << 30))
        events: list[Event] = [VOCABULARY.read(record) for record in records]
        return [event for event in events if isinstance(event, StepUnclaimed)]


def test_a_step_that_nobody_claims_from_its_queue_is_told_once_and_waits() -> None:
    world = Writers()
    world.one(Publish((Draft.of(STEP),)))

    world.run(4)
    early = world.told()
    world.run(600)

    (told,) = world.told()
    report = decode(world.log.read(1, 1, 1 << 20)[0])
    assert early == []
    assert (told.step_id, told.action) == ("fix", "write_code")
    assert 5 <= told.waited_s <= 10
    assert (report.source, report.causation, report.correlation) == ("hub", 1, "e1")
    assert len(world.claim("Writer")) == 1
    assert world.hub.next_due_ns() is not None  # the lease, and nothing that goes on for ever


def test_a_step_whose_worker_died_is_told_when_its_lease_is_over_and_another_may_take_it() -> None:
    world = Writers()
    world.one(Publish((Draft.of(STEP),)))
    world.claim("Writer", lease_s=30)

    world.run(29)
    held = world.told()
    world.run(12)

    (lease,) = world.claim("Writer")
    done = Draft.of(StepCompleted(execution_id="e1", step_id="fix"))
    world.one(Finish("Writer", 1, lease.epoch, (done,)))
    world.run(600)
    assert held == []
    assert len(world.told()) == 1
    assert world.topics() == ["step.execute", "step.unclaimed", "step.completed"]
    assert world.hub.next_due_ns() is None


def test_a_step_that_waits_for_a_busy_worker_is_not_told() -> None:
    world = Writers()
    world.one(Publish((Draft.of(STEP), Draft.of(STEP))))

    for _ in range(4):  # each takes its time, and the next is claimed at once
        (lease,) = world.claim("Writer", lease_s=20)
        world.run(19)
        world.one(Finish("Writer", lease.record.position, lease.epoch, ()))
        world.one(Publish((Draft.of(STEP),)))

    assert world.told() == []


def test_a_step_that_waited_through_a_restart_of_the_hub_is_told() -> None:
    world = Writers()
    world.one(Publish((Draft.of(STEP),)))

    world.reopened()
    world.run(30)

    assert len(world.told()) == 1


def test_what_is_told_and_cannot_be_written_is_told_once_it_can() -> None:
    world = Writers()
    world.one(Publish((Draft.of(STEP),)))
    world.run(5)

    world.log.full = True
    world.later(5)
    with pytest.raises(LogError):
        world.hub.tick(world.now_ns)
    world.log.full = False
    world.run(30)

    assert len(world.told()) == 1


def given_back(world: Writers) -> None:
    """What the one worker held, as where its program has died."""
    (lease,) = world.claim("Writer", lease_s=3_600)
    world.run(20)
    world.one(Release("Writer", 1, lease.epoch, 0))
    world.hub.abandoned({"Writer"}, world.now_ns)


def test_a_step_whose_worker_is_known_to_be_gone_is_told_after_a_second() -> None:
    world = Writers()
    world.one(Publish((Draft.of(STEP),)))
    given_back(world)

    early = world.told()
    world.run(2)

    assert early == []
    assert len(world.told()) == 1
    world.run(600)
    assert len(world.told()) == 1


def test_it_is_not_told_where_another_takes_it_at_once() -> None:
    world = Writers()
    world.one(Publish((Draft.of(STEP),)))
    given_back(world)

    world.claim("Writer", lease_s=600)
    world.run(60)

    assert world.told() == []
