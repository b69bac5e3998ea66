"""Components that answer at once: in the asker's thread, and never beside another handler."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest

from cortex.bus import AskTimeoutError, Event, UnansweredError
from cortex.runtime.kernel import Component, Delivery, Home, Output, Runtime, on

from .kernel_staff import PATIENCE_S, Gate, JobAsked, JobCount, JobCounted, Vocal


class Quick(Component):
    answers_at_once = True
    seen: ClassVar[list[int]] = []
    met: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self._inside = threading.Lock()

    @on(JobAsked)
    def work(self, event: JobAsked, delivery: Delivery) -> None:
        self._alone("work")

    @on(JobCount)
    def count(self, event: JobCount, delivery: Delivery) -> Iterator[Output]:
        self._alone("count")
        Quick.seen.append(threading.get_ident())
        yield JobCounted(count=42)

    def _alone(self, what: str) -> None:
        if not self._inside.acquire(blocking=False):
            Quick.met.append(what)
            return
        sum(range(2_000))
        self._inside.release()


def count_of(answer: Event) -> int:
    assert isinstance(answer, JobCounted)
    return answer.count


def test_an_idle_component_answers_in_the_thread_of_who_asks() -> None:
    Quick.seen.clear()
    with Runtime(components=[Vocal, Quick]) as runtime:
        me = runtime.client("me")

        answers = [count_of(me.ask(JobCount(), PATIENCE_S)) for _ in range(3)]

    assert answers == [42, 42, 42]
    assert Quick.seen == [threading.get_ident()] * 3


def test_a_component_at_work_answers_by_its_mailbox() -> None:
    gate = Gate()
    seen: list[int] = []

    class Busy(Component):
        answers_at_once = True

        @on(JobAsked)
        def work(self, event: JobAsked, delivery: Delivery) -> None:
            seen.append(threading.get_ident())
            gate.pass_through()

        @on(JobCount)
        def count(self, event: JobCount, delivery: Delivery) -> Iterator[Output]:
            seen.append(threading.get_ident())
            yield JobCounted(count=1)

    with Runtime(components=[Vocal, Busy]) as runtime, ThreadPoolExecutor(1) as pool:
        me = runtime.client("me")
        me.publish(JobAsked(n=1))
        gate.wait_for_one()
        with pytest.raises(AskTimeoutError):
            me.ask(JobCount(), 0.05)
        later = pool.submit(me.ask, JobCount(), PATIENCE_S)
        gate.open.set()

        assert count_of(later.result(PATIENCE_S)) == 1
    assert set(seen[:2]) == {seen[0]}  # the question that timed out was still in the mailbox


def test_no_two_handlers_of_a_component_run_at_the_same_time() -> None:
    Quick.met.clear()
    with Runtime(components=[Vocal, Quick]) as runtime, ThreadPoolExecutor(4) as pool:
        clients = [runtime.client(f"me{n}") for n in range(4)]

        def ask_and_work(n: int) -> list[int]:
            found = []
            for _ in range(150):
                clients[n].publish(JobAsked(n=n))
                found.append(count_of(clients[n].ask(JobCount(), PATIENCE_S)))
            return found

        answers = [answer for many in pool.map(ask_and_work, range(4)) for answer in many]

    assert answers == [42] * 600
    assert Quick.met == []


def test_nobody_is_answered_before_all_is_recalled(tmp_path: Path) -> None:
    gate = Gate()

    class Remembering(Component):
        answers_at_once = True
        recalls = 1
        jobs = 0

        def recall(self, event: Event, delivery: Delivery) -> None:
            gate.pass_through()
            self.jobs += 1

        @on(JobAsked)
        def work(self, event: JobAsked, delivery: Delivery) -> None:
            self.jobs += 1

        @on(JobCount)
        def count(self, event: JobCount, delivery: Delivery) -> Iterator[Output]:
            yield JobCounted(count=self.jobs)

    with Runtime(Home.create(tmp_path / ".cortex"), components=[Vocal, Remembering]) as first:
        me = first.client("me")
        me.publish(JobAsked(n=1), JobAsked(n=2))
        while count_of(me.ask(JobCount(), PATIENCE_S)) < 2:
            pass
    with Runtime(Home(tmp_path / ".cortex"), components=[Vocal]) as second:
        threading.Thread(target=second.add, args=(Remembering,), daemon=True).start()
        gate.wait_for_one()
        me = second.client("me")
        with pytest.raises(AskTimeoutError):
            me.ask(JobCount(), 0.05)
        gate.open.set()

        assert count_of(me.ask(JobCount(), PATIENCE_S)) == 2


def test_errors_reach_the_asker_and_the_component_goes_on() -> None:
    class Picky(Component):
        answers_at_once = True

        @on(JobCount)
        def count(self, event: JobCount, delivery: Delivery) -> Iterator[Output]:
            if event.kind:
                raise ValueError("a bad question")
            yield JobCounted(count=7)

    with Runtime(components=[Vocal, Picky]) as runtime:
        me = runtime.client("me")
        with pytest.raises(ValueError, match="a bad question"):
            me.ask(JobCount(kind="bad"), PATIENCE_S)

        assert count_of(me.ask(JobCount(), PATIENCE_S)) == 7
        runtime.remove("Picky")
        with pytest.raises(UnansweredError):
            me.ask(JobCount(), PATIENCE_S)
