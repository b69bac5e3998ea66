"""The supervisor keeps what it watches, whatever another thread does meanwhile."""

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pykka

from cortex.bus import Backoff, SystemClock
from cortex.runtime.kernel import Restarts, Watched, Watching

running: Any = import_module("cortex.runtime.kernel.shells.running")
supervising: Any = import_module("cortex.runtime.kernel.shells.supervisor")

LONG_S = 60.0


class Stopping(pykka.ThreadingActor):
    """Ends with its first message."""

    def on_receive(self, message: object) -> None:
        self.stop()


class Interrupted(dict[str, object]):
    """Another thread comes in between, once, as something is looked up."""

    between: Callable[[], object] | None = None

    def get(self, key: str, default: object = None) -> object:
        found = super().get(key, default)
        between, self.between = self.between, None
        if between is not None:
            between()
        return found


def test_what_begins_again_as_its_rest_is_heard_of_is_started() -> None:
    supervisor = supervising.Supervisor(SystemClock())
    made = threading.Semaphore(0)
    lives: list[Any] = []

    def make(hooks: Any) -> Any:
        lives.append(hooks)
        made.release()
        return running.RunningShell(Stopping.start(), lambda: None, lambda: None)

    def watch() -> None:
        supervisor.watch("Doer/1", make)

    watch()
    assert made.acquire(timeout=LONG_S)
    known = Interrupted(supervisor._watches)
    known.between = watch
    supervisor._watches = known
    lives[0].rested()
    begun = made.acquire(timeout=LONG_S)
    supervisor.close()
    pykka.ActorRegistry.stop_all()

    assert begun


class Failing:
    """What fails as soon as it is started, as a plugin may whose process crashes."""

    def __init__(self, hooks: Any) -> None:
        hooks.started()
        hooks.failed("it crashed")

    def end(self) -> None: ...

    def ended_within(self, wait_s: float) -> bool:
        return True

    def abandon(self) -> None: ...


class Failures:
    """What a supervisor decided after each failure."""

    def __init__(self, backoff_s: float, most: int | None = None) -> None:
        self._count = threading.Semaphore(0)
        self.told: list[Watched] = []
        restarts = Restarts(Backoff(backoff_s, backoff_s), most)
        self.watching = Watching(failed=self._take, restarts=lambda: restarts)

    def _take(self, watched: Watched) -> None:
        self.told.append(watched)
        self._count.release()

    def until(self) -> Watched:
        assert self._count.acquire(timeout=LONG_S)
        return self.told[-1]


def test_each_failure_is_reported_with_what_was_decided_until_it_is_given_up() -> None:
    supervisor = supervising.Supervisor(SystemClock())
    failures = Failures(0.0, most=2)

    supervisor.watch("ticker", Failing, failures.watching)
    for _ in range(3):
        failures.until()
    supervisor.close()

    assert [each.failures for each in failures.told] == [1, 2, 3]
    assert [each.status for each in failures.told] == ["waiting", "waiting", "given up"]
    assert {each.reason for each in failures.told} == {"it crashed"}


def test_another_version_does_not_wait_for_the_end_of_a_backoff() -> None:
    supervisor = supervising.Supervisor(SystemClock())
    failures = Failures(100 * LONG_S)

    supervisor.watch("ticker", Failing, failures.watching)
    failures.until()
    supervisor.afresh("ticker")
    again = failures.until()
    supervisor.close()

    assert (again.status, again.failures) == ("waiting", 1)


def test_a_report_that_cannot_be_recorded_ends_no_supervision() -> None:
    supervisor = supervising.Supervisor(SystemClock())
    failures = Failures(0.0)
    heard = threading.Semaphore(0)

    def failed(watched: Watched) -> None:
        heard.release()
        raise OSError("no space left")

    supervisor.watch(
        "ticker", Failing, Watching(failed=failed, restarts=failures.watching.restarts)
    )
    often = [heard.acquire(timeout=LONG_S) for _ in range(3)]
    supervisor.close()

    assert all(often)
