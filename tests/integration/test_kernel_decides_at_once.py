"""Components that decide at once: on the publisher's thread, once for each event, and in order."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from cortex.bus import Client, Recorded, decode
from cortex.runtime.kernel import Component, Delivery, Output, Runtime, on

from .kernel_staff import PATIENCE_S, JobAsked, JobDone, JobNoted, Vocal


class Quick(Component):
    """Does jobs from memory; those of the kind "odd" fail at first."""

    decides = (JobAsked,)
    threads: ClassVar[list[int]] = []
    met: ClassVar[list[int]] = []

    def __init__(self) -> None:
        self._inside = threading.Lock()
        self._failed: set[int] = set()

    @on(JobAsked)
    @on(JobNoted)
    def work(self, event: JobAsked | JobNoted, delivery: Delivery) -> Iterator[Output]:
        if not self._inside.acquire(blocking=False):
            Quick.met.append(event.n)
            return
        try:
            Quick.threads.append(threading.get_ident())
            if getattr(event, "kind", "") == "odd" and event.n not in self._failed:
                self._failed.add(event.n)
                raise RuntimeError("odd")
            yield JobDone(n=event.n, attempt=delivery.version)
        finally:
            self._inside.release()


def results(client: Client, count: int) -> list[Recorded]:
    """What the component did, once it did so much."""
    feed, found = client.follow((JobDone.topic_name(), None), after=0), list[Recorded]()
    while len(found) < count:
        more = feed.next(PATIENCE_S)
        assert more, found
        found += more
    feed.close()
    return found


def test_an_idle_component_decides_on_the_thread_of_who_publishes() -> None:
    Quick.threads.clear()
    with Runtime(components=[Vocal, Quick]) as runtime:
        me, count = runtime.client("me"), 0
        while threading.get_ident() not in Quick.threads:  # it comes to rest after its first event
            me.publish(JobAsked(n=count))
            count += 1
            results(me, count)
            assert count < 1_000, Quick.threads
        asked, done = runtime.log.read(runtime.hub.head - 2, 2, 1 << 20)

    assert (decode(asked).topic, decode(done).topic) == ("job.asked", "job.done")
    assert decode(asked).time_ns == decode(done).time_ns  # one transaction


def test_whoever_publishes_each_event_is_decided_once_and_in_order() -> None:
    Quick.met.clear()
    threads, each = 8, 100

    def publish(client: Client, first: int) -> None:
        for n in range(first, first + each):
            # Others that it sees and does not decide at once, and some that fail the first time.
            kind = "odd" if n % 23 == 0 else "plain"
            client.publish(JobNoted(n=n) if n % 7 == 0 else JobAsked(n=n, kind=kind))

    with Runtime(components=[Vocal, Quick]) as runtime:
        with ThreadPoolExecutor(threads) as pool:
            clients = [runtime.client(f"c{n}") for n in range(threads)]
            for ended in [pool.submit(publish, c, n * each) for n, c in enumerate(clients)]:
                ended.result()
        found = results(clients[0], threads * each)
        words = runtime.vocabulary

    assert Quick.met == []
    assert sorted(words.read(r).n for r in found) == [*range(threads * each)]  # type: ignore[attr-defined]  # of JobDone
    causes = [record.causation or 0 for record in found]
    assert causes == sorted(set(causes))
