"""How a command that goes on for long is told to end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGTERM, signal.SIGINT)
LOOK_S = 0.2


@contextmanager
def told_to_end() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set while the block is entered.

    After the first, what they did before holds again: the second does not wait for good order.
    """
    told = threading.Event()

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def end(*_: object) -> None:
        told.set()
        put_back()

    before = {number: signal.signal(number, end) for number in SIGNALS}
    try:
        yield told
    finally:
        put_back()


def wait_for(told: threading.Event, check: Callable[[], None] = lambda: None) -> None:
    """Wait until *told* is set, on the main thread; *check* raises what ends it otherwise."""
    # A signal that the system hands to another thread does not end a wait without a time, and its
    # handler would run when the next one comes.
    while not told.wait(LOOK_S):
        check()
