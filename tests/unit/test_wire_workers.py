"""Jobs that may take their time have threads, as many as are wanted and for as long."""

import threading
from importlib import import_module
from typing import Any

import pytest

from ..waiting import until

WORKERS: Any = import_module("cortex.bus.wire.server.workers")
NAME = "test-workers"
LONG_S = 60.0


def threads() -> int:
    return sum(thread.name == NAME for thread in threading.enumerate())


def test_jobs_are_done_at_the_same_time_up_to_a_bound() -> None:
    workers = WORKERS.Workers(NAME, failed=lambda _: None, most=3)
    under_way, done, go = threading.Semaphore(0), threading.Semaphore(0), threading.Event()

    def job() -> None:
        under_way.release()
        go.wait(LONG_S)
        done.release()

    for _ in range(5):
        workers.do(job)
    for _ in range(3):
        assert under_way.acquire(timeout=LONG_S)

    assert threads() == 3
    assert not under_way.acquire(blocking=False)
    go.set()
    workers.close()
    assert all(done.acquire(blocking=False) for _ in range(5))


def test_a_job_that_fails_is_noted_and_the_next_is_done() -> None:
    failed: list[Exception] = []
    workers = WORKERS.Workers(NAME, failed.append, most=1)
    done = threading.Event()

    nothing: dict[str, None] = {}
    workers.do(lambda: nothing["missing"])
    workers.do(done.set)

    assert done.wait(LONG_S)
    workers.close()
    assert [type(error) for error in failed] == [KeyError]


def test_threads_end_when_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WORKERS, "IDLE_S", 0.01)
    workers, done = WORKERS.Workers(NAME, failed=lambda _: None), threading.Event()
    for _ in range(4):
        workers.do(lambda: None)

    until(lambda: not threads())

    workers.do(done.set)  # and begin again
    assert done.wait(LONG_S)
    workers.close()
