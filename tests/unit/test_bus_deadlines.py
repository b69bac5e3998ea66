"""Recorded deadlines: replaced, forgotten, and fired once, whatever happens in between."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from msgspec.structs import replace

from cortex.bus import Commit, Due, Finish, LogError, Publish, Refused, decode

from .bus_world import SECOND_NS, HubWorld, as_reopened, draft, ordered, shape, work, written


@pytest.fixture
def world() -> HubWorld:
    return HubWorld()


def due(world: HubWorld, seconds: float, name: str = "d", plan: str = "p") -> Due:
    return Due(name, world.now_ns + int(seconds * SECOND_NS), written(plan))


def test_a_deadline_fires_once_at_its_time_under_the_name_of_its_author(world: HubWorld) -> None:
    world.one(Publish((), due=(due(world, 5),)), client="me")

    world.hub.tick(world.now_ns)
    assert world.topics() == []
    assert world.hub.next_due_ns() == world.now_ns + 5 * SECOND_NS
    world.later(5)
    world.hub.tick(world.now_ns)
    world.hub.tick(world.now_ns)

    (record,) = [decode(data) for data in world.log.read(0, 9, 1 << 20)]
    assert (record.topic, record.source) == ("plan.written", "me")
    assert world.hub.next_due_ns() is None
    assert shape(world.hub) == as_reopened(world)


def test_a_deadline_expects_no_version_of_its_stream_for_nobody_compares_it_later(
    world: HubWorld,
) -> None:
    first = due(world, 5)
    expecting = replace(first, draft=replace(first.draft, expected_version=0))

    answer = world.one(Publish((), due=(expecting,)))

    assert isinstance(answer, Refused)
    assert "expects version 0" in str(answer.error())
    assert world.hub.next_due_ns() is None


def test_a_deadline_that_is_set_again_for_the_same_time_fires_once(world: HubWorld) -> None:
    for _ in range(3):
        world.one(Publish((), due=(due(world, 5),)))
    world.later(5)
    world.hub.tick(world.now_ns)

    assert world.topics() == ["plan.written"]


def test_one_that_is_set_anew_all_the_time_takes_no_more_room(world: HubWorld) -> None:
    for _ in range(1_000):
        world.one(
            Publish(
                (),
                due=(
                    due(world, 5),
                    Due("lasts", world.now_ns + 5 * SECOND_NS, written("q"), 5 * SECOND_NS),
                ),
            )
        )

    order = world.hub._deadlines
    assert sum(map(len, order._heaps)) < 100
    world.later(6)
    world.hub.tick(world.now_ns)
    assert world.topics() == ["plan.written", "plan.written"]


def test_a_deadline_is_replaced_by_one_of_the_same_name(world: HubWorld) -> None:
    world.one(Publish((), due=(due(world, 5, plan="old"),)))
    world.one(Publish((), due=(due(world, 9, plan="new"),)))
    world.later(5)
    world.hub.tick(world.now_ns)
    assert world.topics() == []
    world.later(4)
    world.hub.tick(world.now_ns)

    (record,) = [decode(data) for data in world.log.read(0, 9, 1 << 20)]
    assert record.stream == "plan/new"


def test_a_forgotten_deadline_does_not_fire(world: HubWorld) -> None:
    world.one(Publish((), due=(due(world, 5),)))
    world.one(Publish((), forget=("d",)))
    world.later(5)
    world.hub.tick(world.now_ns)

    assert world.topics() == []
    assert shape(world.hub) == as_reopened(world)


@pytest.mark.parametrize("forgets", [1, 2])
def test_within_a_batch_the_last_word_on_a_deadline_counts(world: HubWorld, forgets: int) -> None:
    forget = Publish((), forget=("d",))
    world.ask(*[forget] * forgets, Publish((), due=(due(world, 5),)))
    assert shape(world.hub) == as_reopened(world)
    assert list(world.hub._state.deadlines) == ["d"]

    world.ask(Publish((), due=(due(world, 7),)), *[forget] * forgets)
    assert shape(world.hub) == as_reopened(world)
    assert not world.hub._state.deadlines


def test_one_request_forgets_before_it_sets(world: HubWorld) -> None:
    world.one(Publish((), due=(due(world, 5),), forget=("d",)))

    assert list(world.hub._state.deadlines) == ["d"]


def test_what_was_missed_while_the_hub_was_down_fires_at_the_next_tick(world: HubWorld) -> None:
    world.one(Publish((), due=(due(world, 5), due(world, 6, "e"))))
    world.later(60)
    world.reopened()
    world.hub.tick(world.now_ns)
    world.reopened()
    world.hub.tick(world.now_ns)

    assert world.topics() == ["plan.written"] * 2


def test_a_deadline_that_could_not_be_written_fires_later_and_once(world: HubWorld) -> None:
    world.one(Publish((), due=(due(world, 5),)))
    world.later(5)
    world.log.full = True
    for _ in range(2):
        with pytest.raises(LogError):
            world.hub.tick(world.now_ns)
    world.log.full = False
    world.hub.tick(world.now_ns)
    world.hub.tick(world.now_ns)

    assert world.topics() == ["plan.written"]


def test_commit_and_finish_set_and_forget_deadlines_too(world: HubWorld) -> None:
    world.ask(ordered("s"), work("w"))
    world.publish_many(1)
    (lease,) = world.claim("w")

    world.one(Commit("s", 0, 1, due=(due(world, 5, "a"), due(world, 5, "b"))))
    world.one(Finish("w", 1, lease.epoch, due=(due(world, 5, "c"),), forget=("a",)))

    assert set(world.hub._state.deadlines) == {"b", "c"}


def test_a_fired_event_is_work_like_any_other(world: HubWorld) -> None:
    world.one(work("w", "plan.written"))
    world.one(Publish((), due=(due(world, 1),)))
    world.later(1)
    world.hub.take_woken()
    world.hub.tick(world.now_ns)

    assert world.hub.take_woken() == {"w"}
    assert world.claim("w")


class Deadlines(RuleBasedStateMachine):
    """The hub's deadlines beside a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.world = HubWorld()
        self.armed: dict[str, tuple[int, int]] = {}
        self.fired: list[int] = []
        self.count = 0

    @rule(name=st.sampled_from("ab"), seconds=st.integers(0, 3))
    def arm(self, name: str, seconds: int) -> None:
        self.count += 1
        at_ns = self.world.now_ns + seconds * SECOND_NS
        self.world.one(Publish((), due=(Due(name, at_ns, draft(str(self.count))),)))
        self.armed[name] = (at_ns, self.count)

    @rule(name=st.sampled_from("ab"))
    def forget(self, name: str) -> None:
        self.world.one(Publish((), forget=(name,)))
        self.armed.pop(name, None)

    @rule(seconds=st.integers(0, 2))
    def wait(self, seconds: int) -> None:
        self.world.later(seconds)
        self.world.hub.tick(self.world.now_ns)
        due = sorted(
            (at, name, count) for name, (at, count) in self.armed.items() if at <= self.world.now_ns
        )
        for _, name, count in due:
            self.fired.append(count)
            del self.armed[name]

    @rule()
    def restart(self) -> None:
        self.world.reopened()

    @invariant()
    def fired_are_those_that_should_be(self) -> None:
        records = [decode(data) for data in self.world.log.read(0, 999, 1 << 20)]
        assert [int(r.key or 0) for r in records] == self.fired
        nearest = min((at for at, _ in self.armed.values()), default=None)
        assert self.world.hub.next_due_ns() == nearest


TestDeadlines = Deadlines.TestCase
TestDeadlines.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
