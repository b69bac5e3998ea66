"""A client whose hub goes and comes back goes on where it was, and loses nothing silently."""

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import (
    Aio,
    Client,
    Clock,
    FrameTooLargeError,
    Hub,
    HubAwayError,
    HubClosedError,
    HubServer,
    LocalHub,
    OutcomeUnknownError,
    RemoteHub,
    SystemClock,
    connect,
    system_entropy,
)
from cortex.runtime.log import MemoryLog

from ..waiting import until
from .wire_world import LONG_S, SAID, WORDS, Doubled, Said, Twice

PAGE_S = 15.0  # the longest that a hub waits with an answer


class Coming:
    """A hub at an address, which goes and comes back on the same log."""

    def __init__(self, folder: Path, clock: Clock | None = None) -> None:
        folder.chmod(0o700)
        self.log, self.url = MemoryLog(), f"ipc://{folder}/bus.sock"
        self.clock = clock or SystemClock()
        self.clients: list[Client] = []
        self.come()

    def come(self) -> None:
        self.hub = LocalHub(Hub(self.log, WORDS, system_entropy), self.clock)
        self.server = HubServer(self.hub, self.log)
        self.server.listen(self.url)

    def go(self) -> None:
        self.server.close()
        self.hub.close()

    def client(self, name: str = "me", away_s: float = LONG_S) -> Client:
        made = connect(self.url, name=name, vocabulary=WORDS, away_s=away_s)
        self.clients.append(made)
        return made


def command_of(client: Client) -> Any:
    """What sends for *client*. No caller sees it, but these tests wait for what stands in it."""
    assert isinstance(client.hub, RemoteHub)
    return client.hub._command


def under_way(client: Client) -> bool:
    """Whether a frame was sent, or is about to be."""
    return command_of(client)._flight is not None


def waiting_for(client: Client) -> int:
    """How many callers wait for the next frame."""
    return len(command_of(client)._waiting)


@pytest.fixture
def coming(tmp_path: Path) -> Iterator[Coming]:
    made = Coming(tmp_path)
    yield made
    for client in made.clients:
        client.close()
    made.go()


def test_what_is_published_while_the_hub_is_away_is_published_when_it_is_back(
    coming: Coming,
) -> None:
    client = coming.client()
    coming.go()
    with ThreadPoolExecutor(4) as pool:
        publishing = [pool.submit(client.publish, Said(number=0))]
        until(lambda: under_way(client) and not waiting_for(client))
        publishing += [pool.submit(client.publish, Said(number=n)) for n in range(1, 4)]
        until(lambda: waiting_for(client) == 3)
        coming.come()

        positions = [each.result(LONG_S) for each in publishing]

    assert sorted(positions) == [1, 2, 3, 4]


def test_a_hub_that_stays_away_is_said_to_be(coming: Coming) -> None:
    client = coming.client(away_s=0.05)
    coming.go()

    def is_away() -> bool:
        with pytest.raises((HubAwayError, OutcomeUnknownError)) as told:
            client.publish(Said())
        return "cannot be reached" in str(told.value)

    until(is_away)  # the first may be on its way when the hub goes: then nobody knows
    with pytest.raises(HubAwayError, match="start it, or try later"):
        connect(coming.url, away_s=0.0)
    coming.come()

    assert client.publish(Said()) == 1


def test_more_than_the_bound_does_not_wait(coming: Coming, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cortex.bus.wire.client.command.BUFFER_REQUESTS", 2)
    client = coming.client()
    coming.go()
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(client.publish, Said(number=0))]
        until(lambda: under_way(client) and not waiting_for(client))
        waiting += [pool.submit(client.publish, Said(number=n)) for n in range(1, 3)]
        until(lambda: waiting_for(client) == 2)

        with pytest.raises(HubAwayError, match="too many requests wait for it already"):
            client.publish(Said(number=9))
        coming.come()

        assert sorted(each.result(LONG_S) for each in waiting) == [1, 2, 3]


def test_a_feed_goes_on_by_a_hub_that_knows_nothing_of_it(coming: Coming) -> None:
    client = coming.client()
    feed = client.follow(SAID)
    client.publish(Said(number=1))
    assert [r.position for r in feed.next(LONG_S)] == [1]

    coming.go()
    coming.come()
    client.publish(Said(number=2))

    assert [r.position for r in feed.next(LONG_S)] == [2]


def test_who_watches_is_woken_by_the_next_hub(coming: Coming) -> None:
    client, woken = coming.client(), threading.Event()
    client.subscribe("me/s", SAID)
    client.hub.watch("me/s", woken.set)
    coming.go()
    coming.come()
    assert woken.wait(LONG_S)
    woken.clear()

    other = coming.client("other")
    other.publish(Said())

    assert woken.wait(LONG_S)
    client.hub.unwatch("me/s", woken.set)


def test_who_answers_is_asked_by_way_of_the_next_hub(coming: Coming) -> None:
    client = coming.client()
    client.hub.answer(Twice, lambda q, _: Doubled(number=2 * getattr(q, "number", 0)))
    coming.go()
    coming.come()

    asker, answer = coming.client("asker"), None
    until_s = time.monotonic() + LONG_S
    while answer is None and time.monotonic() < until_s:
        try:
            answer = asker.ask(Twice(number=21), LONG_S)
        except Exception:  # noqa: BLE001  # it is not connected again yet
            threading.Event().wait(0.02)

    assert answer == Doubled(number=42)


def test_closing_ends_whoever_waits(coming: Coming) -> None:
    client = coming.client()
    feed = client.follow(SAID)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(feed.next, LONG_S)
        until(lambda: coming.server.clients()[0].connections > 1)

        client.close()

        with pytest.raises(HubClosedError):
            waiting.result(LONG_S)
    with pytest.raises(HubClosedError):
        client.publish(Said())


def test_ctrl_c_ends_a_wait_and_the_next_call_is_answered(coming: Coming) -> None:
    client = coming.client()
    feed = client.follow(SAID)
    pressing = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    pressing.start()

    began_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        feed.next(PAGE_S)

    assert time.monotonic() - began_s < PAGE_S / 2  # in nng itself it would wait for the answer
    assert client.publish(Said()) == 1


def test_a_publish_over_the_frame_bound_is_refused_here(coming: Coming) -> None:
    client = coming.client()

    with pytest.raises(FrameTooLargeError, match="publish fewer events at once"):
        client.publish(*(Said(text="x" * 200_000) for _ in range(30)))

    assert client.publish(Said()) == 1


def test_the_asyncio_face_is_one_adapter(coming: Coming) -> None:
    async def main() -> list[int]:
        async with Aio() as aio:
            client = await aio(coming.client, "async")
            await asyncio.gather(*(aio(client.publish, Said(number=n)) for n in range(5)))
            return [record.position async for record in aio.each(client.read())]

    assert asyncio.run(main()) == [1, 2, 3, 4, 5]


def test_who_comes_back_keeps_the_work_that_it_holds_and_who_does_not_gives_it_back(
    coming: Coming, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cortex.bus.wire.server.server.BACK_S", {"ipc": LONG_S})
    one, other = coming.client("worker/1"), coming.client("worker/2")
    mine, theirs = one.work("worker", SAID), other.work("worker", SAID)
    one.publish(Said(number=1), Said(number=2))
    (first,), (second,) = mine.claim(lease_s=600.0), theirs.claim(lease_s=600.0)

    for connection in list(coming.server._connections.values()):
        connection.cut()
    until(lambda: not coming.server.clients())
    assert one.hub.head == other.hub.head  # each comes back by asking something
    until(lambda: not coming.server._away)  # nothing is left that could be given back
    assert not mine.claim()  # both are held as before
    mine.finish(first)
    monkeypatch.setattr("cortex.bus.wire.server.server.BACK_S", {"ipc": 0.1})
    other.close()
    (again,) = mine.claim(wait_s=LONG_S)

    assert again.record.position == second.record.position
    assert again.attempts == 2


def test_a_feed_whose_hub_is_away_is_closed_at_once(coming: Coming) -> None:
    client = coming.client(away_s=0.1)
    feed = client.follow(SAID, after=0)
    coming.go()
    with pytest.raises(HubAwayError):
        feed.next(LONG_S)
    command_of(client)._away_s = 2 * LONG_S  # as long as whoever closes it would wait for the hub

    closing = threading.Thread(target=feed.close, daemon=True)
    closing.start()
    closing.join(LONG_S / 2)

    assert not closing.is_alive()


class Collecting:
    """A clock that collects garbage whenever nng asks it the time, in a callback."""

    def now_ns(self) -> int:
        if threading.current_thread().name.startswith("Dummy"):  # nng has started it
            gc.collect()
        return time.time_ns()

    def monotonic_ns(self) -> int:
        return self.now_ns()


def test_clients_that_nobody_closed_are_not_closed_inside_a_callback_of_nng(tmp_path: Path) -> None:
    coming = Coming(tmp_path, Collecting())
    for number in range(3):
        forgotten = connect(coming.url, name=f"forgotten-{number}", vocabulary=WORDS)
        forgotten.publish(Said(number=number))
    del forgotten

    with connect(coming.url, name="next", vocabulary=WORDS) as client:
        assert client.publish(Said(number=3)) == 4  # where one is closed there, it waits for ever
    coming.go()
