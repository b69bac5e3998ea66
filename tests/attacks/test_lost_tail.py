"""A log that lost its tail gives the same positions out again: nobody sees a mixture of the two."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cortex.bus import (
    Client,
    ConflictError,
    Hub,
    LeaseLostError,
    LocalHub,
    Recorded,
    SystemClock,
    TailLostError,
    system_entropy,
)
from cortex.runtime.log import EventLog

from .lost_tail_world import LONG_S, SAID, WORDS, Machine, Mirror, Said


@pytest.fixture(params=["ipc", "tls"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    made = Machine(request.param, tmp_path)
    yield made
    made.close()


def said(client: Client, *texts: str, about: str = "all") -> int:
    return client.publish(*(Said(about=about, text=text) for text in texts))


def lose(machine: Machine, *instead: str) -> tuple[Client, int]:
    """Lose the tail; somebody else publishes other events in its place, the last one there."""
    machine.lose_tail()
    machine.start()
    other = machine.client("other")
    return other, said(other, *instead)


def follow_to(mirror: Mirror, next_: Callable[[float], list[Recorded]], head: int) -> None:
    """Take what comes, until the event at *head* is held."""
    while head not in mirror.held or (mirror.lost and max(mirror.held) < head):
        try:
            mirror.take([r for r in next_(LONG_S) if r.position])
        except TailLostError as lost:
            mirror.drop(lost)


def is_the_log(mirror: Mirror, client: Client) -> bool:
    # What the hub says of the loss comes after it.
    return list(mirror.held.values()) == list(client.read(until=max(mirror.held)))


def test_a_follower_is_told_and_goes_on_from_the_last_common_position(machine: Machine) -> None:
    first = machine.client("first")
    feed, mirror = machine.client("follower").follow(after=0), Mirror()
    common = said(first, "a", "b", "c")
    machine.save()
    follow_to(mirror, feed.next, said(first, "lost", "lost", "lost"))

    other, head = lose(machine, "x", "y")
    with pytest.raises(TailLostError) as told:
        feed.next(LONG_S)
    mirror.drop(told.value)
    follow_to(mirror, feed.next, head)

    assert mirror.lost == [(common + 3, common)]
    assert is_the_log(mirror, other)


def test_a_follower_that_was_not_behind_the_cut_is_told_nothing(machine: Machine) -> None:
    first = machine.client("first")
    feed, mirror = machine.client("follower").follow(after=0), Mirror()
    head = said(first, "a", "b", "c")
    follow_to(mirror, feed.next, head)
    machine.save()

    other, head = lose(machine, "x", "y")
    follow_to(mirror, feed.next, head)

    assert mirror.lost == []
    assert is_the_log(mirror, other)


def test_every_follower_learns_of_every_cut(machine: Machine) -> None:
    first = machine.client("first")
    feeds = [machine.client(f"follower-{n}").follow(after=0) for n in range(3)]
    mirrors = [Mirror() for _ in feeds]
    head = said(first, "a", "b", "c")
    for cut in range(3):
        machine.save()
        for mirror, feed in zip(mirrors, feeds, strict=True):
            follow_to(mirror, feed.next, head)
        head = said(machine.client(f"before-{cut}"), *(["lost"] * (cut + 1)))
        for mirror, feed in zip(mirrors[: cut + 1], feeds, strict=False):
            follow_to(mirror, feed.next, head)
        other, head = lose(machine, *("xyz"[: cut + 1]))
        for mirror, feed in zip(mirrors, feeds, strict=True):
            follow_to(mirror, feed.next, head)

    assert [len(mirror.lost) for mirror in mirrors] == [3, 2, 1]
    assert all(is_the_log(mirror, other) for mirror in mirrors)


def test_a_cursor_on_the_hub_goes_back_with_the_log(machine: Machine) -> None:
    first, holder = machine.client("first"), machine.client("holder")
    subscription, mirror = holder.subscribe("holder/s", SAID, start="beginning"), Mirror()
    follow_to(mirror, subscription.next, said(first, "a", "b"))
    subscription.commit()
    machine.save()
    follow_to(mirror, subscription.next, said(first, "lost"))
    subscription.commit()
    follow_to(mirror, subscription.next, said(first, "lost too"))

    other, head = lose(machine, "x", "y", "z")
    with pytest.raises(TailLostError) as told:
        subscription.commit(Said(about="results", text="of what is not there"))
    mirror.drop(told.value)
    follow_to(mirror, subscription.next, head)
    subscription.commit(Said(about="results", text="of what is"))

    assert [r.topic for r in mirror.held.values()] == [SAID[0]] * len(mirror.held)
    assert [r for r in other.read() if r.position in mirror.held] == list(mirror.held.values())
    assert len(list(other.read_stream("tail/results"))) == 1


def test_a_lease_of_a_lost_event_finishes_nothing(machine: Machine) -> None:
    first, worker = machine.client("first"), machine.client("worker")
    work = worker.work("worker/w", SAID)
    said(first, "a")
    machine.save()
    said(first, "lost")
    kept, lost = work.claim(2, wait_s=LONG_S)

    other, _ = lose(machine, "x")
    with pytest.raises(TailLostError):
        work.finish(lost, Said(about="results", text="of what is not there"))
    # The claim is not in the log either; somebody else holds the event, with the same count.
    theirs = other.work("worker/w", SAID).claim(2, wait_s=LONG_S)
    assert [lease.epoch for lease in theirs] == [kept.epoch, lost.epoch]
    with pytest.raises(LeaseLostError):
        work.finish(kept, Said(about="results", text="late"))
    with pytest.raises((LeaseLostError, TailLostError)):
        work.renew(kept)
    for lease in theirs:
        work.finish(lease, Said(about="results", text=lease.record.stream))

    assert len(list(other.read_stream("tail/results"))) == 2


def test_a_lease_outlives_a_hub_that_lost_nothing(machine: Machine) -> None:
    first, worker = machine.client("first"), machine.client("worker")
    work = worker.work("worker/w", SAID)
    said(first, "a")
    (lease,) = work.claim(1, wait_s=LONG_S)

    machine.kill()
    machine.start()

    work.finish(lease, Said(about="results"))
    assert len(list(first.read_stream("tail/results"))) == 1


def test_the_receipt_of_a_number_that_was_given_out_again_is_not_given(machine: Machine) -> None:
    first = machine.client("first")
    said(first, "a")
    machine.save()
    number = first.next_number()
    mine = [Said(about="mine", text="lost")]
    first.publish(*mine, number=number)

    machine.lose_tail()
    machine.start()
    machine.client("first").publish(Said(about="theirs"), number=number)

    with pytest.raises(TailLostError):  # it was acknowledged, and is not there
        first.publish(*mine, number=number)
    with pytest.raises((TailLostError, ConflictError)):  # and nobody answers for it
        first.publish(*mine, number=number)
    assert list(first.read_stream("tail/mine")) == []
    first.publish(*mine, number=first.next_number())
    assert len(list(first.read_stream("tail/mine"))) == 1


def test_a_version_of_a_lost_event_is_not_the_one_that_stands_there(machine: Machine) -> None:
    first = machine.client("first")
    said(first, "a", about="thing")
    machine.save()
    said(first, "lost", about="thing")  # version 2

    machine.lose_tail()
    machine.start()
    said(machine.client("other"), "x", about="thing")  # version 2 as well

    with pytest.raises(TailLostError):
        first.publish(Said(about="thing", text="third"), expected_version=2)
    first.publish(Said(about="thing", text="third"), expected_version=2)  # now it knows


def test_who_only_publishes_is_told_that_what_was_acknowledged_is_lost(machine: Machine) -> None:
    first = machine.client("first")
    common = said(first, "a")
    machine.save()
    lost = said(first, "lost")

    lose(machine, "x")

    with pytest.raises(TailLostError) as told:
        said(first, "b")
    assert (told.value.seen, told.value.common) == (lost, common)
    said(first, "b")
    assert [WORDS.read(r).text for r in first.read_stream("tail/all")] == ["a", "x", "b"]  # type: ignore[attr-defined]  # all of them are `Said`


def test_the_log_says_what_was_lost(machine: Machine) -> None:
    first = machine.client("first")
    common = said(first, "a")
    machine.save()
    lost = said(first, "lost")

    other, _ = lose(machine, "x")
    with pytest.raises(TailLostError):
        said(first, "b")

    began, told = (WORDS.read(r) for r in other.read_stream("log"))
    assert (began.after, began.reason) == (common, "unclean")  # type: ignore[attr-defined]
    assert (told.common, told.seen, told.client) == (common, lost, "first")  # type: ignore[attr-defined]


def test_reading_page_by_page_gives_no_mixture(machine: Machine) -> None:
    first = machine.client("first")
    common = said(first, *"abcd")
    machine.save()
    said(first, *["lost"] * 2_000)
    reading = machine.client("reader").read()
    mirror = Mirror()
    for _ in range(common + 500):
        mirror.take([next(reading)])

    lose(machine, *["x"] * 3_000)

    with pytest.raises(TailLostError) as told:
        mirror.take(list(reading))
    mirror.drop(told.value)
    mirror.take(list(first.read(told.value.common)))
    assert is_the_log(mirror, machine.client("judge"))


class Here:
    """A hub in this process, whose log is a file that may be exchanged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.open()

    def open(self) -> None:
        self.log = EventLog.open(self.path)
        self.hub = LocalHub(Hub(self.log, WORDS, system_entropy), SystemClock())
        self.client = Client("here", self.hub, self.log, WORDS)

    def close(self) -> None:
        self.hub.close()
        self.log.close()

    def copied(self, to: Path) -> Path:
        """A copy of the log, as somebody makes a backup of it: closed or in the middle."""
        to.mkdir()
        for path in self.path.parent.glob("log.db*"):
            if path.is_file() and not path.name.endswith((".lock", "-shm")):
                shutil.copy(path, to)
        return to

    def restore(self, backup: Path) -> None:
        self.close()
        for path in self.path.parent.glob("log.db*"):
            path.unlink()
        for path in backup.iterdir():
            shutil.copy(path, self.path.parent)
        self.open()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    made = Here(tmp_path / "log.db")
    yield made
    made.close()


@pytest.mark.parametrize("closed", [True, False], ids=["a closed log", "a running one"])
def test_a_kept_position_is_refused_after_a_backup_was_restored(here: Here, closed: bool) -> None:
    common = said(here.client, "a", "b")
    if closed:
        here.close()
    backup = here.copied(here.path.parent / "backup")
    if closed:
        here.open()
    kept = said(here.client, "lost", "lost"), here.client.epochs
    here.restore(backup)
    said(here.client, "x", "y", "z")

    with pytest.raises(TailLostError) as told:
        here.client.follow(after=kept[0], epochs=kept[1])
    with pytest.raises(TailLostError):
        list(here.client.read(kept[0], epochs=kept[1]))

    assert told.value.common == common
    feed = here.client.follow(after=told.value.common)
    texts = [WORDS.read(r).text for r in feed.next(0) if r.topic == SAID[0]]  # type: ignore[attr-defined]
    assert texts == ["x", "y", "z"]


def test_a_kept_position_outlives_openings_that_lose_nothing(here: Here) -> None:
    kept = said(here.client, "a", "b"), here.client.epochs
    for _ in range(3):
        here.close()
        here.open()
    said(here.client, "c")

    feed = here.client.follow(after=kept[0], epochs=kept[1])

    assert [r.position for r in feed.next(0)] == [kept[0] + 1]


def test_two_hubs_on_two_copies_of_a_log_are_two_histories(here: Here, tmp_path: Path) -> None:
    common = said(here.client, "a")
    there = Here(here.copied(tmp_path / "there") / "log.db")
    said(there.client, "theirs")
    kept = said(here.client, "ours", "ours"), here.client.epochs

    with pytest.raises(TailLostError) as told:
        there.client.follow(after=kept[0], epochs=kept[1])

    assert told.value.common == common
    there.close()


def test_a_position_that_no_log_of_this_length_has_is_refused(here: Here) -> None:
    head = said(here.client, "a")

    feed = here.client.follow(after=head + 7)

    with pytest.raises(TailLostError) as told:
        feed.next(0)
    assert told.value.common == head
    said(here.client, "b")
    assert [r.position for r in feed.next(0)] == [head + 1]
