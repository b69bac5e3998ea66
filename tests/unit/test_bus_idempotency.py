"""Requests in numbered frames: done once, whatever comes again, late, or from another life."""

import pytest

from cortex.bus import (
    Answer,
    Appended,
    Commit,
    Done,
    LogError,
    Once,
    Publish,
    Refused,
    Request,
)

from .bus_world import HubWorld, as_reopened, draft, ordered, shape, written

LIFE = 7 << 32
OTHER = 8 << 32


@pytest.fixture
def world() -> HubWorld:
    return HubWorld()


def frame(number: int, *requests: Request, repeat: bool = False) -> Once:
    return Once(number, repeat, (("alice", requests),))


def send(world: HubWorld, number: int, *requests: Request, repeat: bool = False) -> Answer:
    return world.one(frame(number, *requests, repeat=repeat), client="alice")


def publish(plan: str) -> Publish:
    return Publish((draft(plan),))


def test_a_repeat_is_answered_and_not_done_again(world: HubWorld) -> None:
    first = send(world, LIFE + 1, publish("a"), publish("b"))

    again = send(world, LIFE + 1, publish("a"), publish("b"), repeat=True)

    assert first == again == Done((Appended(1, 1), Appended(2, 2)))
    assert world.hub.head == 2


def test_a_repeat_is_answered_by_the_hub_that_opens_the_log_next(world: HubWorld) -> None:
    first = send(world, LIFE + 1, publish("a"))
    assert as_reopened(world) == shape(world.hub)
    world.reopened()

    assert send(world, LIFE + 1, publish("a"), repeat=True) == first
    assert world.hub.head == 1


def test_a_repeat_in_the_same_batch_is_not_done_again(world: HubWorld) -> None:
    asked = frame(LIFE + 1, publish("a"))

    first, again = world.ask(asked, asked, client="alice")

    assert first == again
    assert world.hub.head == 1


def test_what_was_never_done_is_done_by_the_repeat(world: HubWorld) -> None:
    assert send(world, LIFE + 1, publish("a"), repeat=True) == Done((Appended(1, 1),))
    assert send(world, LIFE + 2, publish("b"), repeat=True) == Done((Appended(2, 2),))


def test_a_commit_that_is_repeated_is_no_conflict(world: HubWorld) -> None:
    world.one(ordered("reader", start="beginning"))
    world.one(publish("a"))
    commit = Commit("reader", 0, 1, (written("a"),))

    first = send(world, LIFE + 1, commit)
    again = send(world, LIFE + 1, commit, repeat=True)

    assert first == again == Done((Appended(2, 2),))
    assert world.topics() == ["plan.write", "plan.written"]


def test_refused_ones_leave_the_others_alone_and_are_refused_again_in_the_same_words(
    world: HubWorld,
) -> None:
    wrong = Publish((draft("a", expected_version=5),))

    first = send(world, LIFE + 1, publish("a"), wrong, publish("b"))
    again = send(world, LIFE + 1, publish("a"), wrong, publish("b"), repeat=True)

    assert first == again
    assert isinstance(first, Done)
    assert [type(answer) for answer in first.answers] == [Appended, Refused, Appended]
    assert world.hub.head == 2


def test_refusals_inside_are_read_back_whole(world: HubWorld) -> None:
    wrong = Publish((draft("a", expected_version=5),))
    first = send(world, LIFE + 1, wrong)
    world.reopened()

    again = send(world, LIFE + 1, wrong, repeat=True)

    assert isinstance(first, Done)
    assert isinstance(again, Done)
    (told,), (before,) = again.answers, first.answers
    assert isinstance(told, Refused)
    assert isinstance(before, Refused)
    assert str(told.error()) == str(before.error())
    assert told.error().args == ("plan/a", 5, 0)


def test_a_log_that_cannot_be_written_keeps_neither_deed_nor_answer(world: HubWorld) -> None:
    world.log.full = True
    with pytest.raises(LogError):
        send(world, LIFE + 1, publish("a"))
    world.log.full = False
    assert world.hub.head == 0

    assert send(world, LIFE + 1, publish("a"), repeat=True) == Done((Appended(1, 1),))


def test_a_frame_that_was_overtaken_is_not_done_again(world: HubWorld) -> None:
    send(world, LIFE + 1, publish("a"))
    send(world, LIFE + 2, publish("b"))

    # It lay on a connection that was given up, while the same was sent on another.
    late = send(world, LIFE + 1, publish("a"))

    assert isinstance(late, Refused)
    assert late.code == "OutcomeUnknownError"
    assert world.hub.head == 2


def test_two_lives_of_a_client_do_not_meet(world: HubWorld) -> None:
    send(world, LIFE + 5, publish("a"))

    assert isinstance(send(world, OTHER + 1, publish("b")), Done)
    assert isinstance(send(world, LIFE + 6, publish("c")), Done)
    assert world.hub.head == 3


def test_nobody_guesses_when_another_life_of_the_client_used_its_line(world: HubWorld) -> None:
    same_line = LIFE + (1_024 << 32)
    send(world, LIFE + 1, publish("a"))
    send(world, same_line + 1, publish("b"))

    again = send(world, LIFE + 1, publish("a"), repeat=True)

    assert isinstance(again, Refused)
    assert again.code == "OutcomeUnknownError"
    assert world.hub.head == 2


def test_a_frame_that_is_given_up_is_settled_as_it_was_answered(world: HubWorld) -> None:
    first = send(world, LIFE + 1, publish("a"))

    assert send(world, LIFE + 1, repeat=True) == first
    assert world.hub.head == 1


def test_a_frame_that_is_settled_before_it_comes_is_never_done(world: HubWorld) -> None:
    assert send(world, LIFE + 1, repeat=True) == Done(())

    late = send(world, LIFE + 1, publish("a"))

    assert late == Done(())
    assert world.hub.head == 0
    assert send(world, LIFE + 2, publish("b")) == Done((Appended(1, 1),))
