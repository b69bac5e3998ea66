"""Components for tests of a running kernel, and ways to wait for what they do."""

import os
import threading
from collections.abc import Iterator
from typing import Any

from cortex.bus import Client, Ephemeral, Event, Query, Recorded
from cortex.runtime.kernel import Component, Delivery, Output, Runtime, on

PATIENCE_S = 120.0  # no test takes as long; a lost wake-up does


class JobAsked(Event, frozen=True, kw_only=True, tag="job.asked"):
    routing = "kind"

    kind: str = "plain"
    n: int = 0
    timeout_s: float | None = None


class JobDone(Event, frozen=True, kw_only=True, tag="job.done"):
    n: int
    by: str = ""
    attempt: int = 1


class JobNoted(Event, frozen=True, kw_only=True, tag="job.noted"):
    n: int


class JobSeen(Ephemeral, frozen=True, kw_only=True, tag="job.seen"):
    n: int


class JobCount(Query, frozen=True, kw_only=True, tag="job.count"):
    kind: str = ""


class JobCounted(Query, frozen=True, kw_only=True, tag="job.counted"):
    count: int
    pid: int = 0


WORDS = (JobAsked, JobDone, JobNoted, JobSeen, JobCount, JobCounted)


class Gate:
    """What the handlers of one test wait for and tell."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()
        self.starts = 0

    def pass_through(self) -> None:
        self.entered.release()
        assert self.open.wait(PATIENCE_S)

    def wait_for_one(self) -> None:
        assert self.entered.acquire(timeout=PATIENCE_S)


class Vocal(Component):
    """Knows all words of these tests, so that a runtime with it takes them."""

    @on(JobNoted)
    @on(JobSeen)
    @on(JobDone)
    @on(JobAsked)
    def hear(self, event: Event, delivery: Delivery) -> None: ...

    @on(JobCounted)
    def answer(self, event: JobCounted, delivery: Delivery) -> None: ...


class Doer(Component):
    """Does jobs in order; what it does with one is said by its kind."""

    @on(JobAsked)
    def do(self, event: JobAsked, delivery: Delivery) -> Iterator[Output]:
        if event.kind == "bad":
            raise ValueError("a bad job")
        if event.kind == "exit":
            raise SystemExit(3)
        if event.kind == "interrupt":
            raise KeyboardInterrupt
        yield JobSeen(n=event.n)
        yield JobDone(n=event.n, by=delivery.component, attempt=delivery.attempt)


class Crew(Doer):
    workers = 2
    lease_s = 0.3


class Counter(Component):
    """Only answers."""

    @on(JobCount)
    def count(self, event: JobCount, delivery: Delivery) -> Iterator[Output]:
        if event.kind == "bad":
            raise ValueError("a bad question")
        if event.kind == "exit":
            raise SystemExit(3)
        if event.kind != "mute":
            yield JobCounted(count=42, pid=os.getpid())


def wait_for(client: Client, topic: str, count: int = 1, after: int = 0) -> list[Recorded]:
    """The first *count* events of *topic*, as they come."""
    feed = client.follow((topic, None), after=after)
    found: list[Recorded] = []
    try:
        while len(found) < count:
            page = feed.next(PATIENCE_S)
            assert page, f"{len(found)} of {count} {topic}"
            found += page
    finally:
        feed.close()
    return found


def read_all(runtime: Runtime, records: list[Recorded]) -> list[Any]:
    """Them, typed."""
    return [runtime.vocabulary.read(record) for record in records]
