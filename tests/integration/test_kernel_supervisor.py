"""The supervisor keeps what it watches, whatever another thread does meanwhile."""

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pykka

from cortex.bus import SystemClock

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
    supervisor = supervising.Supervisor(SystemClock(), lambda *_: None)
    made = threading.Semaphore(0)
    lives: list[Any] = []

    def make(hooks: Any) -> Any:
        lives.append(hooks)
        made.release()
        return supervising.RunningShell(Stopping.start(), lambda: None, lambda: None)

    def watch() -> None:
        supervisor.watch("Doer/1", make, lambda _: False)

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
