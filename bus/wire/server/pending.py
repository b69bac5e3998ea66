"""The answer that a connection waits for; at most one, because a connection is in lock-step.

The request keeps its context but no thread. The thread that has the answer sends it; or the
connection checks for it at each wakeup, and sends another answer when its time is over.
"""

import threading
from collections.abc import Callable

import msgspec

from ...requests import Answer
from ..frames import Gone
from .carrier import Context

Do = Callable[[Callable[[], None]], None]
Answered = Callable[[], bytes | None]  # the whole answer; None if it is still pending


class Owed(msgspec.Struct, eq=False):
    """An answer that is not there yet."""

    context: Context
    until_ns: int
    send: Callable[[Answer], bytes]  # the whole answer, with this as its last part
    late: Answered  # the answer when the time is over
    look: Callable[[], Answer | None] | None = None  # checks whether the answer is there
    forget: Callable[[], None] | None = None  # called if the answer is no longer wanted


class Pending:
    """The pending answer of one connection; thread-safe.

    Args:
        sends: Sends an answer on a context, or ends the connection; returns whether it sent one.
        soon: Runs a job soon.
    """

    def __init__(self, sends: Callable[[Context, Answered], bool], soon: Do) -> None:
        self._sends, self._soon = sends, soon
        self._lock = threading.Lock()
        self._owed: Owed | None = None
        self._rung = self._looking = self._left = False

    @property
    def owed(self) -> Owed | None:
        """The pending answer."""
        return self._owed

    def owe(self, owed: Owed) -> None:
        """Answer later: from now on any thread may `give` the answer, or end the wait.

        Raises:
            Gone: The connection has ended.
        """
        with self._lock:
            if self._left:
                raise Gone("it has ended")
            self._owed = owed

    def hush(self) -> None:
        """Start a check: earlier wakeups are covered by it."""
        self._rung = False

    def ring_again(self) -> None:
        """Repeat wakeups that came between a check and `owe`."""
        if self._rung:
            self.ring()

    def give(self, owed: Owed, answer: Answer) -> bool:
        """Send this answer; False if it is no longer pending."""
        return self._settle(owed) and self._sends(owed.context, lambda: owed.send(answer))

    def overdue(self, owed: Owed) -> None:
        """Handle the end of its time."""
        if self._settle(owed):
            self._sends(owed.context, owed.late)

    def fail(self, error: Exception) -> None:
        """Answer with *error*, which ends the connection."""

        def failed() -> bytes:
            raise error

        owed = self._owed
        if owed is not None and self._settle(owed):
            if owed.forget is not None:
                owed.forget()
            self._sends(owed.context, failed)

    def ring(self, do: Do | None = None) -> None:
        """Handle a wakeup: *do* runs the check; without *do* it runs soon, in another thread."""
        with self._lock:
            self._rung = True
            owed = self._owed
            if owed is None or owed.look is None or self._looking:
                return
            self._looking = True
        (do or self._soon)(self._look)

    def leave(self) -> Context | None:
        """The connection has ended; returns the context that is now free."""
        with self._lock:
            owed, self._owed, self._left = self._owed, None, True
        if owed is None:
            return None
        if owed.forget is not None:
            owed.forget()
        return owed.context

    def _settle(self, owed: Owed) -> bool:
        with self._lock:
            if self._owed is not owed:
                return False
            self._owed = None
            return True

    def _look(self) -> None:
        again = True
        while again:
            with self._lock:
                owed, self._rung = self._owed, False
                if owed is None or owed.look is None:
                    self._looking = False
                    return
            answer: Answer | None = None
            try:
                answer = owed.look()
            except Exception as error:  # noqa: BLE001  # the connection answers with it, whatever it is
                self._looking = False
                self.fail(error)
                return
            with self._lock:
                self._looking = again = answer is None and self._rung
            if answer is not None:
                self.give(owed, answer)
