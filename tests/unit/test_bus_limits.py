"""What one client may make a hub keep: counted by name, and refused at the limit."""

import random
from collections import Counter

import pytest

from cortex.bus import (
    Allowance,
    Answer,
    Appended,
    Draft,
    Due,
    LimitError,
    Limits,
    Publish,
    Rate,
    Refused,
    Request,
    Subscribe,
    Unsubscribe,
)
from cortex.bus.events import VOCABULARY, ProcessRejected

from .bus_world import NOON_NS, SECOND_NS, HubWorld, as_reopened, draft, refusal, shape

FEW = Limits(subscriptions=3, filters=5, deadlines=2, receipts=2)


@pytest.fixture
def world() -> HubWorld:
    made = HubWorld()
    limited(made)
    return made


def limited(world: HubWorld, limits: Limits = FEW) -> None:
    """Limit alice and the component that she hosts, and nobody else."""
    allowance = Allowance("alice", limits, ("alice", "Hosted"))
    world.hub.allowed = lambda root: allowance if root in allowance.roots else None


def subscribe(name: str, pairs: int = 1, *, lasting: bool = True) -> Subscribe:
    wanted = tuple((f"plan.p{n}", None) for n in range(pairs))
    return Subscribe(name, "ordered", wanted, lasting=lasting)


def due(*names: str, forget: tuple[str, ...] = ()) -> Publish:
    wanted = tuple(Due(name, NOON_NS + 9 * SECOND_NS, draft("d")) for name in names)
    return Publish((), due=wanted, forget=forget)


def refused(answer: Answer) -> tuple[object, ...]:
    assert isinstance(answer, Refused), answer
    assert isinstance(answer.error(), LimitError)
    return answer.fields


@pytest.mark.parametrize(
    "names", [["alice/1", "alice/2", "alice/3"], ["alice", "Hosted", "alice/x"]]
)
@pytest.mark.parametrize("lasting", [True, False])
def test_subscriptions_are_bounded_by_client_whatever_its_names(
    world: HubWorld, names: list[str], lasting: bool
) -> None:
    for name in names:
        world.one(subscribe(name, lasting=lasting), client="alice")

    over = world.one(subscribe("alice/more", lasting=lasting), client="alice")

    assert refused(over) == ("alice", "subscriptions", 3)
    assert not isinstance(world.one(subscribe("bob/1"), client="bob"), Refused)
    world.one(Unsubscribe(names[0]))
    assert not isinstance(world.one(subscribe("alice/more", lasting=lasting)), Refused)


def test_neighbours_in_one_batch_count(world: HubWorld) -> None:
    answers = world.ask(*(subscribe(f"alice/{n}") for n in range(5)), client="alice")

    assert [isinstance(answer, Refused) for answer in answers] == [False] * 3 + [True] * 2


def test_filter_pairs_are_bounded_when_a_subscription_is_changed_too(world: HubWorld) -> None:
    world.one(subscribe("alice/1", 3))

    assert refused(world.one(subscribe("alice/2", 3))) == ("alice", "filters", 5)
    assert refused(world.one(subscribe("alice/1", 6))) == ("alice", "filters", 5)
    assert not isinstance(world.one(subscribe("alice/1", 5)), Refused)
    assert not isinstance(world.one(subscribe("alice/1", 1)), Refused)
    assert not isinstance(world.one(subscribe("alice/2", 4)), Refused)


def test_deadlines_are_bounded_and_one_that_came_or_was_forgotten_makes_room(
    world: HubWorld,
) -> None:
    assert world.one(due("a", "b"), client="alice") == Appended()
    assert refused(world.one(due("c"), client="alice")) == ("alice", "deadlines", 2)
    assert world.one(due("c"), client="bob") == Appended()

    assert world.one(due("a", "b"), client="alice") == Appended()  # in place of themselves
    assert world.one(due("d", forget=("a",)), client="alice") == Appended()
    assert refused(world.one(due("e"), client="alice")) == ("alice", "deadlines", 2)

    world.later(10)
    world.hub.tick(world.now_ns)
    assert world.one(due("e", "f"), client="alice") == Appended()


def test_a_refused_deadline_leaves_nothing_of_its_request(world: HubWorld) -> None:
    before = shape(world.hub)

    over = world.one(Publish((draft("p"),), due=due("a", "b", "c").due), client="alice")

    assert refused(over) == ("alice", "deadlines", 2)
    assert shape(world.hub) == before


def test_numbered_publishes_are_bounded_by_name(world: HubWorld) -> None:
    for name in ("alice/1", "alice/2"):
        world.one(Publish((draft(),), 1), client=name)

    assert refused(world.one(Publish((draft(),), 1), client="alice/3")) == ("alice", "receipts", 2)
    assert world.one(Publish((draft(),), 2), client="alice/1") == Appended(3, 3)


@pytest.mark.parametrize("seed", range(12))
def test_what_was_counted_is_what_a_hub_that_opens_the_log_next_counts(seed: int) -> None:
    world, chance = HubWorld(), random.Random(seed)
    limited(world, Limits(subscriptions=9, filters=20, deadlines=6, receipts=4))

    def asked() -> Request:
        name = f"alice/{chance.randrange(12)}"
        names = [f"d{chance.randrange(9)}" for _ in range(chance.randrange(4))]
        return chance.choice(
            [
                subscribe(name, 1 + chance.randrange(3)),
                subscribe(name, 1 + chance.randrange(3)),
                Unsubscribe(name),
                due(*names, forget=tuple(f"d{chance.randrange(9)}" for _ in range(2))),
                Publish((draft(name),), chance.randrange(5)),
            ]
        )

    for _ in range(60):
        if chance.random() < 0.1:
            world.later(5)
            world.hub.tick(world.now_ns)
        client = chance.choice(["alice", "alice/1", "bob"])
        world.ask(*(asked() for _ in range(chance.randrange(6))), client=client)

        counts = Counter(world.hub._state.tally.counts)
        assert shape(world.hub) == as_reopened(world)
        assert counts["subscriptions", "alice"] <= 9
        assert counts["filters", "alice"] <= 20
        assert counts["deadlines", "alice"] <= 6
        assert counts["receipts", "alice"] <= 4


LONG = "ä" * 129


@pytest.mark.parametrize("field", ["stream", "key", "correlation", "subject"])
def test_names_in_an_event_are_bounded_for_everybody(world: HubWorld, field: str) -> None:
    wrong = draft("p", **{field: LONG})  # type: ignore[arg-type]  # a text this time

    assert refusal(world.one(Publish((wrong,)))) == "EventInvalidError"
    assert world.hub.head == 0


def test_names_of_subscriptions_and_deadlines_are_bounded_for_everybody(world: HubWorld) -> None:
    assert refusal(world.one(subscribe(f"bob/{LONG}"))) == "SubscriptionError"
    assert refusal(world.one(due(LONG), client="bob")) == "EventInvalidError"
    assert not isinstance(world.one(due("ä" * 128), client="bob"), Refused)


def test_a_rate_lets_a_burst_through_and_is_paid_back_afterwards() -> None:
    rate, now_ns = Rate(10), 1_000 * SECOND_NS
    assert rate.wait_ns(now_ns) == 0

    rate.use(70)  # 50 may come at once

    assert rate.wait_ns(now_ns) == 2 * SECOND_NS
    assert rate.wait_ns(now_ns + SECOND_NS) == SECOND_NS
    assert rate.wait_ns(now_ns + 2 * SECOND_NS) == 0
    rate.use(1)
    assert rate.wait_ns(now_ns + 2 * SECOND_NS) == SECOND_NS // 10
    assert rate.wait_ns(now_ns) == SECOND_NS // 10  # a clock that stands still gives nothing


def test_no_bound_is_no_wait() -> None:
    rate = Rate(0)
    rate.use(1 << 40)

    assert rate.wait_ns(5) == 0


def test_a_file_with_a_long_path_has_a_stream_all_the_same() -> None:
    short, long = (ProcessRejected(file=f, diagnostics=()) for f in ("a.yaml", "d/" * 200 + "a"))

    assert short.stream() == "source/a.yaml"
    assert len(long.stream()) < 80
    VOCABULARY.check(Draft.of(long))


def test_a_steady_stream_is_within_a_rate_and_so_is_a_burst() -> None:
    rate = Rate(100)

    assert all(rate.take(10, n * SECOND_NS // 10) for n in range(1, 1_000))
    assert rate.take(490, 1_000 * SECOND_NS)
    assert not rate.take(20, 1_000 * SECOND_NS)


def test_twice_as_fast_as_the_rate_is_too_much_before_long() -> None:
    rate = Rate(100)
    seconds = next(n for n in range(1, 100) if not rate.take(200, n * SECOND_NS))

    assert seconds <= 10


def test_a_clock_that_stands_still_or_goes_back_fills_nothing() -> None:
    rate = Rate(1)
    rate.take(5, 10 * SECOND_NS)

    assert not rate.take(1, 9 * SECOND_NS)
