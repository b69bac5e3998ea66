"""A claim that stands has the next work leased to it in the transaction that appends it."""

from collections.abc import Sequence

import pytest

from cortex.bus import (
    Claim,
    Claimed,
    Draft,
    Event,
    Finish,
    Lease,
    LogError,
    Publish,
    Release,
    StandDown,
    StandingClaim,
    Subscribe,
    Unsubscribe,
)
from cortex.bus.events import VOCABULARY, ExecutionCancelled, StepCompleted, StepExecute

from .bus_world import SECOND_NS, HubWorld

LEASE_NS = 30 * SECOND_NS


def step(number: int = 1) -> StepExecute:
    return StepExecute(execution_id=f"e{number}", step_id="fix", action="write")


class Desk(HubWorld):
    """A hub with a queue of steps, whose log counts the transactions."""

    def __init__(self, *, quick: bool) -> None:
        super().__init__(VOCABULARY)
        self.quick = quick  # what was leased meanwhile is fetched without a transaction
        self.one(Subscribe("Writer", "work", (("step.execute", "write"),)))

    def say(self, *events: Event) -> None:
        self.one(Publish(tuple(Draft.of(event) for event in events)))

    def stand(self, claimant: str = "Writer/1", limit: int = 1) -> Sequence[Lease]:
        request = StandingClaim("Writer", limit, LEASE_NS, claimant=claimant)
        leased = self.hub.fetch_leased(request, self.now_ns) if self.quick else None
        answer = self.one(request) if leased is None else leased
        assert isinstance(answer, Claimed)
        return answer.leases

    def rows(self) -> list[tuple[int, int, int]]:
        return [(w.position, w.epoch, w.attempts) for w in self.log.state().work]


@pytest.fixture(params=[True, False], ids=["quick", "handled"])
def world(request: pytest.FixtureRequest) -> Desk:
    return Desk(quick=request.param)


def test_work_is_leased_as_it_is_appended_and_fetched_without_a_transaction(world: Desk) -> None:
    assert not world.stand()

    world.say(step())
    written = world.rows()
    world.log.full = True  # nothing can be written any more
    (lease,) = world.stand()

    assert written == [(1, 1, 1)]
    assert (lease.record.position, lease.epoch, lease.attempts) == (1, 1, 1)


def test_nobody_else_gets_what_was_leased(world: Desk) -> None:
    world.stand()
    world.say(step())

    assert not world.claim("Writer")
    (lease,) = world.stand()
    world.one(Finish("Writer", 1, lease.epoch, (Draft.of(done()),)))
    assert world.rows() == []


def done() -> StepCompleted:
    return StepCompleted(execution_id="e1", step_id="fix")


def test_a_claim_stands_for_one_transaction_and_up_to_its_limit(world: Desk) -> None:
    world.stand(limit=2)

    world.say(*map(step, (1, 2, 3)))
    world.say(step(4))

    assert [lease.record.position for lease in world.stand(limit=2)] == [1, 2]
    assert [position for position, epoch, _ in world.rows() if not epoch] == [3, 4]


def test_of_two_that_wait_the_first_is_given_the_first(world: Desk) -> None:
    world.stand("Writer/1")
    world.stand("Writer/2")

    world.say(step(1))
    world.say(step(2))

    assert [lease.record.position for lease in world.stand("Writer/2")] == [2]
    assert [lease.record.position for lease in world.stand("Writer/1")] == [1]


def test_who_claims_again_in_the_transaction_that_leases_to_it_loses_nothing(world: Desk) -> None:
    world.stand()

    again = StandingClaim("Writer", 1, LEASE_NS, claimant="Writer/1")
    _, claimed = world.ask(Publish((Draft.of(step(1)),)), again)
    world.say(step(2))

    assert claimed == Claimed(())  # it is woken
    (lease,) = world.stand()
    assert lease.record.position == 1
    world.one(Finish("Writer", 1, lease.epoch, (Draft.of(done()),)))
    assert [lease.record.position for lease in world.stand()] == [2]


def test_work_that_comes_behind_a_claim_in_its_transaction_is_leased_to_it(world: Desk) -> None:
    claim = StandingClaim("Writer", 1, LEASE_NS, claimant="Writer/1")

    world.ask(claim, Publish(tuple(Draft.of(step(n)) for n in (1, 2))))

    assert world.rows() == [(1, 1, 1), (2, 0, 0)]
    assert [lease.record.position for lease in world.stand()] == [1]


def test_one_that_finds_work_does_not_stand(world: Desk) -> None:
    world.say(step(1))

    assert len(world.stand()) == 1
    world.say(step(2))

    assert world.rows()[-1] == (2, 0, 0)


def test_what_is_not_fetched_lapses_and_goes_to_another(world: Desk) -> None:
    world.stand()
    world.say(step())

    world.later(31)

    (lease,) = world.claim("Writer")
    assert (lease.epoch, lease.attempts) == (2, 2)
    assert not world.stand()


def test_what_is_fetched_late_is_held_for_the_whole_lease(world: Desk) -> None:
    world.stand()
    world.say(step())
    world.later(20)

    (lease,) = world.stand()
    world.later(20)

    assert not world.claim("Writer")
    assert world.rows() == [(1, lease.epoch, 1)]


def test_who_stands_down_leaves_the_work_as_if_nobody_had_had_it(world: Desk) -> None:
    world.stand()
    world.say(step())

    world.one(StandDown("Writer/1"))
    world.say(step(2))

    assert [attempts for _, _, attempts in world.rows()] == [0, 0]
    assert [lease.record.position for lease in world.claim("Writer", 2)] == [1, 2]


def test_who_stands_down_in_the_transaction_that_leases_leaves_the_work_all_the_same(
    world: Desk,
) -> None:
    world.stand()

    world.ask(Publish((Draft.of(step()),)), StandDown("Writer/1"))

    (lease,) = world.claim("Writer")
    assert lease.attempts == 1


def test_who_stands_down_leaves_the_same_event_to_others_who_hold_it(world: Desk) -> None:
    world.one(Subscribe("Reader", "work", (("step.execute", "write"),)))
    world.stand()
    world.one(StandingClaim("Reader", 1, LEASE_NS, claimant="Reader/1"))
    world.say(step())
    world.one(StandingClaim("Reader", 1, LEASE_NS, claimant="Reader/1"))  # it is at work

    world.one(StandDown("Writer/1"))

    assert world.claim("Writer")
    assert not world.claim("Reader")


def test_what_was_cancelled_before_it_was_fetched_is_carried_out_by_nobody(world: Desk) -> None:
    world.stand()
    world.say(step())

    world.say(ExecutionCancelled(execution_id="e1", reason="asked for"))

    assert not world.stand()
    assert world.rows() == []


def test_a_transaction_that_is_not_written_leases_nothing(world: Desk) -> None:
    world.stand()
    world.log.full = True

    with pytest.raises(LogError):
        world.say(step())
    world.log.full = False

    assert not world.stand()
    assert world.rows() == []
    world.say(step())
    assert len(world.stand()) == 1


def test_a_finish_and_the_next_claim_are_one_transaction(world: Desk) -> None:
    world.stand()
    world.say(step())
    (lease,) = world.stand()

    _, claimed = world.ask(
        Finish("Writer", 1, lease.epoch, (Draft.of(done()),)),
        StandingClaim("Writer", 1, LEASE_NS, claimant="Writer/1"),
    )
    world.say(step(2))

    assert claimed == Claimed(())
    assert world.rows() == [(3, 1, 1)]


def test_a_hub_that_is_opened_again_has_the_work_of_who_is_gone(world: Desk) -> None:
    world.stand()
    world.say(step())

    world.reopened()

    assert [lease.record.position for lease in world.claim("Writer")] == [1]


def test_a_subscription_that_is_removed_takes_its_claims_with_it(world: Desk) -> None:
    world.stand()
    world.one(Unsubscribe("Writer"))
    world.one(Subscribe("Writer", "work", (("step.execute", "write"),)))

    world.say(step())

    assert world.rows() == [(1, 0, 0)]


def test_work_that_is_given_back_goes_to_who_comes_first(world: Desk) -> None:
    world.say(step())
    (held,) = world.claim("Writer")
    world.stand("Writer/2")

    world.one(Release("Writer", 1, held.epoch, 0))

    assert [lease.epoch for lease in world.stand("Writer/2")] == [2]


def test_a_plain_claim_never_stands(world: Desk) -> None:
    world.one(Claim("Writer", 1, LEASE_NS))

    world.say(step())

    assert world.rows() == [(1, 0, 0)]


def test_the_quick_way_answers_only_what_nothing_has_to_be_written_for() -> None:
    world = Desk(quick=True)
    request = StandingClaim("Writer", 1, LEASE_NS, claimant="Writer/1")

    assert world.hub.fetch_leased(request, world.now_ns) is None  # nothing was leased to it
    world.stand()
    world.say(step())
    other = StandingClaim("Writer", 1, LEASE_NS, claimant="Writer/2")
    assert world.hub.fetch_leased(other, world.now_ns) is None
    world.say(ExecutionCancelled(execution_id="e1", reason="no"))
    assert world.hub.fetch_leased(request, world.now_ns) is None  # it may be wanted no more
    assert not world.stand()


def test_the_quick_way_gives_each_lease_once() -> None:
    world = Desk(quick=True)
    request = StandingClaim("Writer", 1, LEASE_NS, claimant="Writer/1")
    world.stand()
    world.say(step())

    fetched = world.hub.fetch_leased(request, world.now_ns)

    assert fetched is not None
    assert [lease.record.position for lease in fetched.leases] == [1]
    assert world.hub.fetch_leased(request, world.now_ns) is None
