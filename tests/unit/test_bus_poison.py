"""Which tries are held against an event: not those that the log or the whole runtime ended."""

import pytest

from cortex.bus import (
    Attempt,
    Attempted,
    Claim,
    Claimed,
    Commit,
    Finish,
    Hub,
    Lease,
    LogError,
    Publish,
    Release,
    Request,
    Unsubscribe,
)

from .bus_world import SECOND_NS, WORDS, HubWorld, draft, ordered, work, written

ALONE_S = 30  # how long a suspect has to itself


@pytest.fixture
def world() -> HubWorld:
    made = HubWorld()
    made.one(work("w"))
    made.one(ordered("s"))
    made.one(ordered("t"))
    return made


def attempt(world: HubWorld, name: str = "s") -> tuple[int, int]:
    answer = world.one(Attempt(name))
    assert isinstance(answer, Attempted)
    return answer.attempts, answer.fallen


def claimed(world: HubWorld, limit: int = 9) -> list[tuple[int, int, int]]:
    """Position, attempts and how many of them fell, of what a claim gives."""
    return [(x.record.position, x.attempts, x.fallen) for x in leases(world, limit)]


def leases(world: HubWorld, limit: int) -> tuple[Lease, ...]:
    answer = world.one(Claim("w", limit, SECOND_NS * 1_000))
    assert isinstance(answer, Claimed)
    return answer.leases


def fall(world: HubWorld, times: int, *requests: Request) -> None:
    """Let the runtime fall *times* times, each time after *requests*."""
    for _ in range(times):
        world.ask(*requests)
        world.reopened()


def fails(world: HubWorld, request: Request) -> None:
    world.log.full = True
    with pytest.raises(LogError):
        world.ask(request, Publish((draft("beside it"),)))
    world.log.full = False


def test_tries_that_ended_with_the_hub_are_told_apart(world: HubWorld) -> None:
    world.publish_many(1)
    fall(world, 2, Attempt("s"), Claim("w", 1, SECOND_NS))

    assert attempt(world) == (3, 2)
    assert attempt(world) == (4, 2)
    assert claimed(world) == [(1, 3, 2)]


def test_the_next_event_begins_without_them(world: HubWorld) -> None:
    world.publish_many(2)
    fall(world, 2, Attempt("s"))
    attempt(world)
    world.one(Commit("s", 0, 1))

    assert attempt(world) == (1, 0)
    assert world.ask(Commit("s", 1, 2), Attempt("s"))[1] == Attempted(1)


def test_a_subscription_made_anew_begins_without_them(world: HubWorld) -> None:
    world.publish_many(1)
    fall(world, 2, Attempt("s"))
    world.ask(Unsubscribe("s"), ordered("s"))

    assert attempt(world) == (1, 0)


def test_a_hub_that_ends_in_good_order_holds_nothing_against_what_was_tried(
    world: HubWorld,
) -> None:
    world.publish_many(2)
    fall(world, 1, Attempt("s"), Claim("w", 1, SECOND_NS))
    world.ask(Attempt("s"), Attempt("s"), Claim("w", 2, SECOND_NS))
    world.hub.end(world.now_ns)
    world.reopened()

    assert attempt(world) == (2, 1)
    assert claimed(world) == [(1, 2, 1), (2, 1, 0)]


def test_a_result_that_the_log_does_not_take_is_not_held_against_its_event(
    world: HubWorld,
) -> None:
    world.publish_many(1)
    for _ in range(5):
        assert attempt(world) == (1, 0)
        fails(world, Commit("s", 0, 1, (written(),)))
    attempt(world)

    assert attempt(world) == (2, 0)


def test_finished_work_that_the_log_does_not_take_is_not_held_against_its_event(
    world: HubWorld,
) -> None:
    world.publish_many(1)
    for _ in range(5):
        (lease,) = leases(world, 1)
        assert (lease.attempts, lease.fallen) == (1, 0)
        fails(world, Finish("w", 1, lease.epoch, (written(),)))
        world.one(Release("w", 1, lease.epoch, 0))
    (lease,) = leases(world, 1)
    world.one(Release("w", 1, lease.epoch, 0))

    assert claimed(world) == [(1, 2, 0)]
    assert lease.epoch == 6  # it rises all the same


def test_nothing_is_forgiven_for_a_result_that_was_refused(world: HubWorld) -> None:
    world.publish_many(2)
    attempt(world)
    fails(world, Commit("s", 1, 2))
    fails(world, Commit("t", 0, 1))  # never counted
    (lease,) = leases(world, 1)
    fails(world, Finish("w", 1, lease.epoch + 1))
    world.one(Release("w", 1, lease.epoch, 0))

    assert attempt(world) == (2, 0)
    assert attempt(world, "t") == (1, 0)
    assert claimed(world, 1) == [(1, 2, 0)]


def test_a_count_that_the_log_does_not_take_uses_nothing_up(world: HubWorld) -> None:
    world.publish_many(1)
    attempt(world)
    fails(world, Commit("s", 0, 1))
    fails(world, Attempt("s"))

    assert attempt(world) == (1, 0)


def test_a_result_that_cannot_even_be_looked_at_is_not_held_against_its_event(
    world: HubWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish_many(1)
    attempt(world)

    def unreadable(stream: str) -> int:
        raise LogError("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr(world.log, "stream_version", unreadable)
        world.one(Commit("s", 0, 1, (written("new"),)))

    assert attempt(world) == (1, 0)


def suspects(world: HubWorld) -> None:
    """Three events that were under way in three falls, one after the other."""
    world.publish_many(3)
    fall(world, 3, Attempt("s"), Claim("w", 2, SECOND_NS))


def test_suspects_are_tried_one_at_a_time(world: HubWorld) -> None:
    suspects(world)

    assert claimed(world) == [(1, 4, 3)]
    assert attempt(world) == (0, 3)
    assert claimed(world) == [(3, 1, 0)]  # an innocent one need not wait
    assert attempt(world, "t") == (1, 0)


def test_a_suspect_is_never_claimed_together_with_others(world: HubWorld) -> None:
    world.publish_many(1)
    fall(world, 3, Claim("w", 1, SECOND_NS))
    (lease,) = leases(world, 1)
    world.one(Release("w", 1, lease.epoch, SECOND_NS))
    world.publish_many(2)
    world.later(1)

    assert claimed(world) == [(1, 5, 3)]
    assert [position for position, _, _ in claimed(world)] == [2, 3]


def test_the_next_suspect_is_woken_when_the_one_before_is_done(world: HubWorld) -> None:
    suspects(world)
    (lease,) = leases(world, 1)
    attempt(world)
    world.hub.take_woken()

    world.one(Finish("w", 1, lease.epoch))
    assert world.hub.take_woken() == {"s", "w"}
    assert attempt(world) == (4, 3)
    assert claimed(world) == [(3, 1, 0)]

    world.one(Commit("s", 0, 1))
    assert world.hub.take_woken() == {"w"}
    assert claimed(world) == [(2, 4, 3)]


@pytest.mark.parametrize("gone", [True, False])
def test_a_suspect_that_is_given_back_or_gone_makes_room(world: HubWorld, gone: bool) -> None:
    suspects(world)
    (lease,) = leases(world, 1)
    world.one(Unsubscribe("w") if gone else Release("w", 1, lease.epoch, SECOND_NS))

    assert "s" in world.hub.take_woken()
    assert attempt(world) == (4, 3)


def test_a_suspect_that_takes_long_is_not_waited_for_for_ever(world: HubWorld) -> None:
    suspects(world)
    leases(world, 1)
    assert world.hub.next_due_ns() == world.now_ns + ALONE_S * SECOND_NS
    assert attempt(world) == (0, 3)
    world.hub.take_woken()

    world.later(ALONE_S)
    world.hub.tick(world.now_ns)

    assert world.hub.take_woken() == {"s", "w"}
    assert attempt(world) == (4, 3)
    assert claimed(world) == [(3, 1, 0)]


def test_a_suspect_does_not_wait_for_itself(world: HubWorld) -> None:
    suspects(world)

    assert attempt(world) == (4, 3)
    assert attempt(world) == (5, 3)


def test_a_claim_that_was_not_written_leaves_the_room_free(world: HubWorld) -> None:
    suspects(world)
    fails(world, Claim("w", 9, SECOND_NS))

    assert attempt(world) == (4, 3)


def test_an_interrupted_write_forgets_no_fall(
    world: HubWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish_many(1)
    fall(world, 2, Attempt("s"))

    def interrupted(batch: object) -> None:
        raise KeyboardInterrupt

    attempt(world)
    with monkeypatch.context() as broken:
        broken.setattr(world.log, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            world.one(Publish((draft(),)))

    assert attempt(world) == (4, 2)


def test_the_hub_of_a_log_without_tries_has_no_suspects(world: HubWorld) -> None:
    world.publish_many(3)
    hub = Hub(world.log, WORDS, bytes)

    assert not hub._poison.fallen
    assert hub.next_due_ns() is None


def test_a_claim_of_nothing_says_whether_there_is_any(world: HubWorld) -> None:
    ask = Claim("w", 0, SECOND_NS)
    assert world.one(ask) == Claimed((), waiting=False)
    world.publish_many(1)
    assert world.one(ask) == Claimed((), waiting=True)

    (lease,) = leases(world, 1)
    assert (lease.attempts, world.one(ask)) == (1, Claimed((), waiting=False))
    world.one(Release("w", 1, lease.epoch, SECOND_NS))
    assert world.one(ask) == Claimed((), waiting=False)

    world.later(1)
    assert world.one(ask) == Claimed((), waiting=True)
    assert claimed(world) == [(1, 2, 0)]
