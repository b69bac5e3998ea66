"""Work subscriptions: each event to one worker, with a lease, an epoch and attempts on disk."""

import pytest

from cortex.bus import (
    Appended,
    Claim,
    Claimed,
    Finish,
    LogError,
    Publish,
    Release,
    Renew,
    Subscribe,
    Unsubscribe,
)

from .bus_world import (
    SECOND_NS,
    HubWorld,
    as_reopened,
    draft,
    ordered,
    refusal,
    shape,
    work,
    written,
)


@pytest.fixture
def world() -> HubWorld:
    made = HubWorld()
    made.one(work("w"))
    return made


def test_work_goes_oldest_first_and_to_one_worker(world: HubWorld) -> None:
    world.publish_many(3)

    first, second = world.claim("w", 2), world.claim("w", 2)

    assert [lease.record.position for lease in first] == [1, 2]
    assert [lease.record.position for lease in second] == [3]
    assert not world.claim("w")


def test_two_claims_of_one_batch_share_nothing(world: HubWorld) -> None:
    world.publish_many(3)

    answers = world.ask(Claim("w", 2, SECOND_NS), Claim("w", 2, SECOND_NS))

    taken = [held.record.position for a in answers if isinstance(a, Claimed) for held in a.leases]
    assert taken == [1, 2, 3]


def test_finished_work_is_gone_and_its_results_are_there(world: HubWorld) -> None:
    world.publish_many(1)
    (lease,) = world.claim("w")

    assert world.one(Finish("w", 1, lease.epoch, (written(),))) == Appended(2, 2)
    assert refusal(world.one(Finish("w", 1, lease.epoch, (written(),)))) == "LeaseLostError"
    world.reopened()
    assert not world.claim("w")
    assert world.topics() == ["plan.write", "plan.written"]


def test_an_answer_with_an_old_epoch_is_refused(world: HubWorld) -> None:
    world.publish_many(1)
    (late,) = world.claim("w", lease_s=1)
    world.later(2)
    (now,) = world.claim("w", lease_s=1)

    for request in (
        Finish("w", 1, late.epoch, (written(),)),
        Renew("w", 1, late.epoch, SECOND_NS),
        Release("w", 1, late.epoch, 0),
    ):
        assert refusal(world.one(request)) == "LeaseLostError"
    assert (now.epoch, now.attempts) == (late.epoch + 1, 2)
    assert world.one(Finish("w", 1, now.epoch)) == Appended()
    assert world.hub.head == 1


def test_an_epoch_outlives_a_restart(world: HubWorld) -> None:
    world.publish_many(1)
    (late,) = world.claim("w")
    world.reopened()
    (now,) = world.claim("w")

    assert (now.epoch, now.attempts) == (late.epoch + 1, 2)
    assert refusal(world.one(Finish("w", 1, late.epoch))) == "LeaseLostError"


def test_a_renewed_lease_holds_longer(world: HubWorld) -> None:
    world.publish_many(1)
    (lease,) = world.claim("w", lease_s=10)
    world.later(9)
    world.one(Renew("w", 1, lease.epoch, 10 * SECOND_NS))
    world.later(9)

    assert not world.claim("w")
    world.later(1)
    assert world.claim("w")


def test_released_work_waits_for_its_backoff_and_wakes_the_workers(world: HubWorld) -> None:
    world.publish_many(1)
    (lease,) = world.claim("w")
    world.one(Release("w", 1, lease.epoch, 5 * SECOND_NS))
    world.hub.take_woken()

    assert not world.claim("w")
    assert world.hub.next_due_ns() == world.now_ns + 5 * SECOND_NS
    world.later(5)
    world.hub.tick(world.now_ns)
    assert world.hub.take_woken() == {"w"}
    (again,) = world.claim("w")
    assert again.attempts == 2


def test_the_workers_are_woken_when_a_lease_lapses(world: HubWorld) -> None:
    world.publish_many(1)
    world.claim("w", lease_s=3)
    world.hub.take_woken()

    world.later(3)
    world.hub.tick(world.now_ns)

    assert world.hub.take_woken() == {"w"}


def test_work_that_is_finished_in_a_batch_is_not_claimed_in_it(world: HubWorld) -> None:
    world.publish_many(1)
    (lease,) = world.claim("w", lease_s=1)
    world.later(2)

    finished, claimed = world.ask(Finish("w", 1, lease.epoch), Claim("w", 1, SECOND_NS))

    assert finished == Appended()
    assert claimed == Claimed(())


def test_a_failed_write_hands_nothing_out_and_loses_nothing(world: HubWorld) -> None:
    world.publish_many(2)
    world.log.full = True
    with pytest.raises(LogError):
        world.claim("w", 2)
    world.log.full = False

    assert [lease.attempts for lease in world.claim("w", 2)] == [1, 1]


def test_a_failed_write_does_not_lose_work_that_was_renewed_late(world: HubWorld) -> None:
    world.publish_many(1)
    (lease,) = world.claim("w", lease_s=1)
    world.later(2)
    world.hub.tick(world.now_ns)
    world.log.full = True
    with pytest.raises(LogError):
        world.ask(Renew("w", 1, lease.epoch, SECOND_NS), Claim("w", 1, SECOND_NS))
    world.log.full = False

    assert world.claim("w")


def test_a_claim_that_cannot_read_its_event_is_refused_and_takes_nothing(
    world: HubWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish_many(2)
    world.reopened()  # or the hub would have the events in memory

    def unreadable(*_: object) -> list[bytes]:
        raise LogError("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr(world.log, "read", unreadable)
        assert refusal(world.one(Claim("w", 2, SECOND_NS))) == "LogError"

    assert [lease.attempts for lease in world.claim("w", 2)] == [1, 1]


def test_events_after_the_subscription_in_its_own_batch_are_work(world: HubWorld) -> None:
    world.ask(Publish((draft("before"),)), work("late"), Publish((draft("after"),)))

    assert [lease.record.key for lease in world.claim("late", 9)] == ["after"]
    assert shape(world.hub) == as_reopened(world)


def test_a_removed_subscription_gets_no_work_in_the_same_batch(world: HubWorld) -> None:
    world.publish_many(1)
    (lease,) = world.claim("w")

    answers = world.ask(
        Unsubscribe("w"),
        Publish((draft(),)),
        Claim("w", 1, SECOND_NS),
        Finish("w", 1, lease.epoch),
    )

    assert [type(a).__name__ for a in answers] == ["Appended", "Appended", "Refused", "Refused"]
    assert not world.log.state().work
    assert shape(world.hub) == as_reopened(world)


def test_work_of_before_does_not_come_back_with_a_new_subscription(world: HubWorld) -> None:
    world.publish_many(2)

    answers = world.ask(
        Publish((draft("p"),)),
        Unsubscribe("w"),
        work("w"),
        Claim("w", 9, SECOND_NS),
        Publish((draft("new"),)),
    )

    assert answers[3] == Claimed(())
    assert [lease.record.key for lease in world.claim("w", 9)] == ["new"]
    assert shape(world.hub) == as_reopened(world)


def test_a_changed_filter_holds_at_once_and_keeps_the_waiting_work(world: HubWorld) -> None:
    world.publish_many(1)

    world.ask(work("w", "plan.written"), Publish((draft("not for it"), written())))

    assert [lease.record.topic for lease in world.claim("w", 9)] == ["plan.write", "plan.written"]


def test_work_does_not_start_at_the_beginning(world: HubWorld) -> None:
    answer = world.one(Subscribe("v", "work", (("*", None),), start="beginning"))

    assert refusal(answer) == "SubscriptionError"


def test_work_is_never_passing(world: HubWorld) -> None:
    answer = world.one(Subscribe("v", "work", (("*", None),), lasting=False))

    assert refusal(answer) == "SubscriptionError"
    world.publish_many(1)
    assert shape(world.hub) == as_reopened(world)


def test_each_kind_refuses_the_requests_of_the_other(world: HubWorld) -> None:
    world.one(ordered("s"))

    assert refusal(world.one(Claim("s", 1, 1))) == "SubscriptionError"
    assert refusal(world.one(Finish("s", 1, 1))) == "SubscriptionError"
