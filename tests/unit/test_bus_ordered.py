"""Ordered subscriptions: everything that matches, in order, from a cursor that moves by commit."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from cortex.bus import (
    Answer,
    Appended,
    Attempt,
    Attempted,
    Commit,
    Publish,
    Refused,
    Subscribed,
    SubscriptionError,
    Unsubscribe,
)

from .bus_world import (
    NOON_NS,
    SECOND_NS,
    HubWorld,
    as_reopened,
    draft,
    glance,
    ordered,
    refusal,
    shape,
    work,
    written,
)


def standing(answer: Answer) -> Subscribed:
    """The answer, whichever epoch it is of."""
    assert isinstance(answer, Subscribed), answer
    return msgspec.structs.replace(answer, log_epoch=0)


@pytest.fixture
def world() -> HubWorld:
    return HubWorld()


def test_a_new_subscription_starts_now_or_at_the_beginning(world: HubWorld) -> None:
    world.publish_many(2)

    assert standing(world.one(ordered("now"))) == Subscribed(2, 2, 0)
    assert standing(world.one(ordered("all", start="beginning"))) == Subscribed(0, 2, 0)


def test_a_new_subscription_starts_at_a_position_or_at_a_time(world: HubWorld) -> None:
    for _ in range(4):  # one a second
        world.publish_many(1)
        world.now_ns += SECOND_NS
    second = datetime.fromtimestamp(NOON_NS // SECOND_NS + 1, UTC)

    def begins(start: str) -> int:
        return standing(world.one(ordered(f"s{start}", start=start))).cursor

    assert [begins(start) for start in ("1", "3", "5")] == [0, 2, 4]
    assert begins(second.isoformat()) == 1
    assert begins((second + timedelta(microseconds=1)).isoformat()) == 2
    assert begins(second.astimezone(timezone(timedelta(hours=5))).isoformat()) == 1
    assert begins("1970-01-01T00:00:00+00:00") == 0
    assert begins("9999-01-01T00:00:00+00:00") == 4


@pytest.mark.parametrize(
    "start", ["0", "6", "9" * 30, "-1", "soon", "2026-11-23", "2026-11-23T10:00:00", "\u0661"]
)
def test_a_start_that_is_none_is_refused_and_says_what_there_is(
    world: HubWorld, start: str
) -> None:
    world.publish_many(4)

    answer = world.one(ordered("s", start=start))

    assert isinstance(answer, Refused)
    assert "begins at" in str(answer.error())


def test_fetch_gives_what_matches_and_says_how_far_it_looked(world: HubWorld) -> None:
    world.one(ordered("s", "plan.written"))
    world.one(Publish((draft(), written(), draft(), draft())))

    page = world.fetch("s")

    assert [r.position for r in page.records] == [2]
    assert page.through == 4


def test_fetch_stops_at_its_limits_and_goes_on_from_there(world: HubWorld) -> None:
    world.one(ordered("s"))
    world.publish_many(5)

    by_count = world.fetch("s", limit=2)
    by_size = world.fetch("s", limit_bytes=1)

    assert ([r.position for r in by_count.records], by_count.through) == ([1, 2], 2)
    assert ([r.position for r in by_size.records], by_size.through) == ([1], 1)
    assert [r.position for r in world.fetch("s", 2).records] == [3, 4, 5]


def test_fetch_reads_from_the_log_what_the_hub_no_longer_keeps(world: HubWorld) -> None:
    world.publish_many(3_000)
    world.one(ordered("s", start="beginning"))
    world.reopened()
    world.publish_many(10)

    positions, after = [], 0
    while (page := world.fetch("s", after)).records:
        positions += [r.position for r in page.records]
        after = page.through

    assert positions == list(range(1, 3_011))


def test_a_commit_moves_the_cursor_and_appends(world: HubWorld) -> None:
    world.one(ordered("s"))
    world.publish_many(3)

    assert world.one(Commit("s", 0, 2, (written(),))) == Appended(4, 4)
    assert standing(world.one(ordered("s"))) == Subscribed(2, 4, 0)


def test_a_commit_from_elsewhere_is_refused_whole(world: HubWorld) -> None:
    world.one(ordered("s"))
    world.publish_many(3)

    answers = world.ask(Commit("s", 0, 2, (written(),)), Commit("s", 0, 3, (written(),)))

    assert answers[0] == Appended(4, 4)
    assert refusal(answers[1]) == "CursorError"
    assert world.hub.head == 4


@pytest.mark.parametrize("through", [4, -1])
def test_a_commit_beyond_the_log_or_back_is_refused(world: HubWorld, through: int) -> None:
    world.one(ordered("s"))
    world.publish_many(3)

    assert refusal(world.one(Commit("s", 0, through))) == "SubscriptionError"


def test_attempts_are_counted_on_disk_until_a_commit(world: HubWorld) -> None:
    world.one(ordered("s"))
    world.publish_many(1)

    counts = world.ask(Attempt("s"), Attempt("s"))
    world.reopened()

    assert counts == [Attempted(1), Attempted(2)]
    assert standing(world.one(ordered("s"))) == Subscribed(0, 1, 2)
    world.one(Commit("s", 0, 1))
    assert standing(world.one(ordered("s"))) == Subscribed(1, 1, 0)


def test_a_subscription_keeps_its_cursor_when_its_filter_changes(world: HubWorld) -> None:
    world.one(ordered("s"))
    world.one(Publish((draft(), written())))
    world.one(Commit("s", 0, 1))

    assert standing(world.one(ordered("s", "plan.written"))) == Subscribed(1, 2, 0)
    assert [r.topic for r in world.fetch("s", 0).records] == ["plan.written"]
    assert shape(world.hub) == as_reopened(world)


def test_a_subscription_does_not_change_its_kind(world: HubWorld) -> None:
    world.one(ordered("s"))

    assert refusal(world.one(work("s"))) == "SubscriptionError"


def test_an_unknown_subscription_is_refused(world: HubWorld) -> None:
    for request in (Commit("s", 0, 0), Attempt("s"), Unsubscribe("s")):
        assert refusal(world.one(request)) == "SubscriptionError"
    with pytest.raises(SubscriptionError):
        world.fetch("s")


def test_a_passing_subscription_is_gone_after_a_restart(world: HubWorld) -> None:
    world.one(ordered("s", lasting=False))
    world.publish_many(1)

    assert [r.position for r in world.fetch("s").records] == [1]
    world.reopened()
    with pytest.raises(SubscriptionError):
        world.fetch("s")


def test_a_passing_subscription_has_no_cursor(world: HubWorld) -> None:
    world.one(ordered("s", lasting=False))
    world.publish_many(1)

    assert refusal(world.one(Commit("s", 0, 1))) == "SubscriptionError"
    assert refusal(world.one(Attempt("s"))) == "SubscriptionError"
    assert not world.log.state().standings


def test_a_passing_subscription_does_not_take_the_place_of_a_lasting_one(world: HubWorld) -> None:
    world.one(ordered("s"))

    assert refusal(world.one(ordered("s", "plan.written", lasting=False))) == "SubscriptionError"
    assert shape(world.hub) == as_reopened(world)


def test_a_passing_subscription_is_removed_for_good(world: HubWorld) -> None:
    world.one(ordered("s", lasting=False))

    world.one(Unsubscribe("s"))

    with pytest.raises(SubscriptionError):
        world.fetch("s")
    assert standing(world.one(ordered("s"))) == Subscribed(0, 0, 0)
    assert world.one(Commit("s", 0, 0)) == Appended()


def test_a_removed_subscription_takes_no_commit_in_the_same_batch(world: HubWorld) -> None:
    world.one(ordered("s"))
    world.publish_many(1)

    removed, commit = world.ask(Unsubscribe("s"), Commit("s", 0, 1))

    assert removed == Appended()
    assert refusal(commit) == "SubscriptionError"
    assert shape(world.hub) == as_reopened(world)


def test_a_subscription_may_be_made_anew_in_the_batch_that_removes_it(world: HubWorld) -> None:
    world.one(ordered("s"))
    world.publish_many(2)

    answers = world.ask(Unsubscribe("s"), ordered("s"))

    assert [answers[0], standing(answers[1])] == [Appended(), Subscribed(2, 2, 0)]
    assert world.one(Commit("s", 2, 2)) == Appended()
    assert shape(world.hub) == as_reopened(world)


def test_a_filter_knows_families_and_everything(world: HubWorld) -> None:
    world.ask(ordered("family", "plan.*"), ordered("all", "*"), ordered("other", "step.*"))
    world.one(Publish((draft(), written())))

    seen = {n: len(world.fetch(n).records) for n in ("family", "all", "other")}
    assert seen == {"family": 2, "all": 2, "other": 0}
    assert world.hub.take_woken() == {"family", "all"}


def test_ephemeral_events_are_fetched_once_and_never_logged(world: HubWorld) -> None:
    world.one(ordered("s", "*"))
    answer = world.one(Publish((glance("a"), glance("b"))))

    page = world.fetch("s")
    after = world.fetch("s", ring_after=page.ring_through)

    assert answer == Appended()
    assert [r.stream for r in page.ephemeral] == ["plan/a", "plan/b"]
    assert {r.position for r in page.ephemeral} == {0}
    assert not after.ephemeral
    assert world.hub.head == 0


@pytest.mark.parametrize("count", [4_096, 6_000, 8_192, 9_000, 20_000])
def test_every_ephemeral_event_is_fetched_or_counted_as_dropped(
    world: HubWorld, count: int
) -> None:
    world.one(ordered("s", "*"))
    for _ in range(count // 1_000):
        world.one(Publish(tuple(glance(str(n)) for n in range(1_000))))
    world.one(Publish(tuple(glance("last") for _ in range(count % 1_000))))

    page = world.fetch("s")

    assert len(page.ephemeral) + page.dropped == count
    assert len(page.ephemeral) >= min(count, 4_096)
    assert page.ring_through == count


def test_ephemeral_events_after_a_restart_are_seen_again_from_their_first(world: HubWorld) -> None:
    world.one(ordered("s", "*"))
    world.one(Publish((glance("a"), glance("b"))))
    seen = world.fetch("s").ring_through
    world.reopened()

    assert world.fetch("s", ring_after=seen).ring_through == 0
    world.one(Publish((glance("c"),)))
    assert [r.stream for r in world.fetch("s").ephemeral] == ["plan/c"]


def test_who_has_just_come_gets_no_ephemeral_events_from_before(world: HubWorld) -> None:
    world.one(ordered("s", "*"))
    world.one(Publish((glance("a"),)))

    first = world.fetch("s", ring_after=-1)
    world.one(Publish((glance("b"),)))

    assert not first.ephemeral
    seen = world.fetch("s", ring_after=first.ring_through).ephemeral
    assert [r.stream for r in seen] == ["plan/b"]
