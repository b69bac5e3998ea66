"""The five promises of the bus, the same ones wherever the hub is."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import (
    ConflictError,
    CursorError,
    LeaseLostError,
    Recorded,
    SubscriptionError,
    UnansweredError,
    decode,
)

from .bus_world import DONE, HINTED, LONG_S, NOTED, Done, Hinted, Noted, Served, Sum, Total

CARRIERS = ["inproc", "ipc", "tls", "bad network"]


@pytest.fixture(params=CARRIERS, scope="module")
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = Served(request.param, tmp_path_factory.mktemp("served"))
    yield made
    made.close()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Of the test, so that those that share a log see their own events."""
    return str(request.node.originalname).removeprefix("test_")[:40]


def numbers(records: list[Recorded]) -> list[int]:
    return [r.version for r in records]


def gather(next_: Callable[[float], list[Recorded]], about: str, count: int) -> list[Recorded]:
    """The first *count* events about something."""
    found: list[Recorded] = []
    while len(found) < count:
        came = next_(LONG_S)
        assert came, f"{len(found)} of {count} came"
        found += [r for r in came if r.stream == f"promise/{about}"]
    return found


def test_what_is_acknowledged_is_on_disk(served: Served, name: str) -> None:
    position = served.client("a").publish(Noted(about=name, number=1))

    log = served.copy_of_log(name)

    assert decode(log.read(position - 1, 1, 1 << 20)[0]).stream == f"promise/{name}"
    log.close()


def test_a_numbered_publish_that_is_repeated_stands_once(served: Served, name: str) -> None:
    client = served.client("numbering")
    number = client.next_number()

    first = client.publish(Noted(about=name), number=number)
    again = client.publish(Noted(about=name), number=number)

    assert first == again
    assert len(list(client.read_stream(f"promise/{name}"))) == 1


def test_everything_published_stands_once_and_in_the_order_of_each_publisher(
    served: Served, name: str
) -> None:
    count, publishers = 60, 3

    def publish(which: int) -> list[int]:
        client = served.client(f"publisher-{which}")
        return [client.publish(Noted(about=f"{name}-{which}", number=n)) for n in range(count)]

    with ThreadPoolExecutor(publishers) as pool:
        positions = list(pool.map(publish, range(publishers)))

    reader = served.client("reader")
    for which, told in enumerate(positions):
        kept = list(reader.read_stream(f"promise/{name}-{which}"))
        assert [r.position for r in kept] == told == sorted(told)
        assert numbers(kept) == list(range(1, count + 1))


def test_everyone_sees_one_order_without_gaps(served: Served, name: str) -> None:
    start = served.client("a").head
    feeds = [served.client(f"seer-{n}").follow(after=start) for n in range(2)]
    publishers = [served.client(f"p-{n}") for n in range(2)]

    def publish(which: int) -> None:
        for n in range(30):
            publishers[which].publish(Noted(about=name, number=n))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(publish, range(2)))
    seen = [gather(feed.next, name, 60) for feed in feeds]

    assert [r.position for r in seen[0]] == [r.position for r in seen[1]]
    times = [r.time_ns for r in seen[0]]
    assert times == sorted(times)
    everything = list(served.client("a").read(after=start))
    assert [r.position for r in everything] == list(range(start + 1, start + 1 + len(everything)))


def test_what_was_not_committed_is_handed_out_again_even_by_another_hub(
    served: Served, name: str
) -> None:
    client = served.client("subscriber")
    first = client.subscribe(f"subscriber/{name}", NOTED)
    client.publish(*(Noted(about=name, number=n) for n in range(5)))
    handed = gather(first.next, name, 5)
    first.commit(through=handed[1].position)

    if served.carrier == "inproc":
        client = served.client("subscriber")
    else:
        served.restart()
    second = client.subscribe(f"subscriber/{name}", NOTED)

    assert [r.position for r in gather(second.next, name, 3)] == [r.position for r in handed[2:]]


def test_a_commit_from_elsewhere_than_the_cursor_is_refused_whole(
    served: Served, name: str
) -> None:
    client = served.client("subscriber")
    mine = client.subscribe(f"subscriber/{name}", NOTED)
    theirs = client.subscribe(f"subscriber/{name}", NOTED)
    client.publish(Noted(about=name))
    gather(mine.next, name, 1)
    gather(theirs.next, name, 1)
    mine.commit(Done(about=name, number=1))

    with pytest.raises(CursorError, match="another client committed"):
        theirs.commit(Done(about=name, number=2))

    assert len(list(client.read_stream(f"promise/{name}"))) == 2


def test_work_goes_to_one_worker_and_a_late_result_is_refused(served: Served, name: str) -> None:
    shared = f"works/{name}"
    slow, quick = [served.client("works").work(shared, NOTED) for _ in range(2)]
    served.client("a").publish(Noted(about=name))
    (lapsing,) = slow.claim(wait_s=LONG_S, lease_s=0.01)

    (lease,) = quick.claim(wait_s=LONG_S, lease_s=10.0)  # an answer may be lost
    quick.finish(lease, Done(about=name))

    assert lease.record.position == lapsing.record.position
    assert lease.epoch > lapsing.epoch
    with pytest.raises(LeaseLostError, match="drop this result"):
        slow.finish(lapsing, Done(about=name))
    done = [r for r in served.client("a").read_stream(f"promise/{name}") if r.topic == DONE[0]]
    assert len(done) == 1


def test_many_workers_finish_each_event_once(served: Served, name: str) -> None:
    shared, count = f"works/{name}", 40
    works = [served.client("works").work(shared, NOTED) for _ in range(3)]
    served.client("a").publish(*(Noted(about=name, number=n) for n in range(count)))
    finished: list[int] = []
    over = threading.Event()

    def toil(which: int) -> None:
        while not over.is_set():
            # A claim whose answer was lost lapses soon, and the events come again.
            for lease in works[which].claim(3, wait_s=0.2, lease_s=1.0):
                try:
                    works[which].finish(lease, Done(about=name))
                except LeaseLostError:
                    continue
                finished.append(lease.record.position)
                if len(finished) == count:
                    over.set()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(toil, range(3)))

    assert len(set(finished)) == len(finished) == count
    done = [r for r in served.client("a").read_stream(f"promise/{name}") if r.topic == DONE[0]]
    assert sorted(r.causation or 0 for r in done) == sorted(finished)


def test_a_stale_writer_is_refused(served: Served, name: str) -> None:
    client = served.client("a")
    client.publish(Noted(about=name), expected_version=0)

    with pytest.raises(ConflictError, match="at version 1, not 0"):
        client.publish(Noted(about=name), expected_version=0)


def test_ephemeral_events_arrive_and_leave_no_trace(served: Served, name: str) -> None:
    client, feed = served.client("a"), served.client("b").follow(HINTED)

    came: list[Recorded] = []
    while not came:  # a connection that is cut may take one with it
        client.publish(Hinted(number=7))
        came = feed.next(1.0)

    assert {r.position for r in came} == {0}
    assert not [r for r in client.read() if r.topic == HINTED[0]]


def test_a_question_is_answered_by_whoever_answers_it(served: Served) -> None:
    answerer, asker = served.client("answerer"), served.client("asker")
    answerer.hub.answer(Sum, lambda q, _: Total(total=sum(getattr(q, "numbers", ()))))

    try:
        answer = _patiently(lambda: asker.ask(Sum(numbers=(1, 2, 39)), LONG_S))
    finally:
        answerer.hub.unanswer(Sum)

    assert answer == Total(total=42)
    with pytest.raises(UnansweredError, match=r"no component answers x\.promise\.sum"):
        asker.ask(Sum(numbers=()), LONG_S)


def test_a_subscription_of_the_other_kind_is_refused(served: Served, name: str) -> None:
    client = served.client("a")
    client.subscribe(f"a/{name}", NOTED)

    with pytest.raises(SubscriptionError, match="is ordered"):
        client.work(f"a/{name}", NOTED)


def _patiently(ask: Callable[[], Any]) -> Any:
    """Ask again where the connection of the answerer was cut at that moment."""
    for _ in range(int(LONG_S * 10)):
        try:
            return ask()
        except UnansweredError:
            threading.Event().wait(0.1)
    return ask()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Served]:
    made = Served("bad network", tmp_path)
    yield made
    made.close()


def test_the_bad_network_is_bad(alone: Served) -> None:
    client = alone.client("a")
    while alone._network is not None and alone._network.cuts < 3:
        client.publish(*(Noted(number=n) for n in range(20)))

    assert numbers(list(client.read_stream("promise/all"))) == list(range(1, client.head + 1))
