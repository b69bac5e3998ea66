"""A client's connections to one hub: opened on demand, and opened again after a loss."""

import random
import threading
from collections.abc import Callable, Sequence

import msgspec

from ...clock import lasting, steady_s
from ...epochs import Epochs
from ...errors import (
    ClientDeniedError,
    CortexError,
    HubAwayError,
    HubClosedError,
    TailLostError,
)
from ...requests import Answer, Appended, Claimed, Page
from ...timers import Backoff
from ..frames import Frame, Gone
from .channel import Channel, Way

BACKOFF = Backoff(0.02, 2.0)  # between two tries to dial
CUT_S = 5.0  # how long to retry a hub that cuts new connections off
CLOSE_S = 1.0  # how long a close waits for a thread that dials
SPARE = 4  # idle connections that are kept
JITTER = random.SystemRandom()


class ConnectionPool:
    """Opens and keeps the connections of one client program."""

    def __init__(self, way: Way) -> None:
        self.way = way
        self.url = way.address.url
        self.closed = threading.Event()
        self.away = False  # whether the last dial found no hub
        self.epochs: Epochs = ()  # of the log, as the hub last reported them
        self.lost: TailLostError | None = None  # the last loss of events that this program had seen
        self.seen = 0  # the newest position that the hub has reported
        self._lock = threading.Lock()
        self._spare: list[Channel] = []
        self._used: set[Channel] = set()

    def dial(self) -> Channel:
        """A new connection.

        Raises:
            Gone: The hub cannot be reached now.
            CortexError: The hub does not admit this client.
            HubClosedError: This client was closed.
        """
        if self.closed.is_set():
            raise HubClosedError
        try:
            channel = self._let_in()
        except Gone:
            self.away = True
            raise
        except CortexError:
            self.away = False  # the hub is there, and refuses
            raise
        self.away = False
        with self._lock:
            self._used.add(channel)
        if self.closed.is_set():
            self.drop(channel)
            raise HubClosedError
        return channel

    def saw(self, answer: Answer) -> None:
        """Note the positions in an answer: the next hub must have the same events there."""
        position = 0
        match answer:
            case Appended(last=position) | Page(through=position):
                pass
            case Claimed(leases=leases) if leases:
                position = leases[-1].record.position
            case _:
                pass
        if position > self.seen:
            self.seen = position

    def _let_in(self) -> Channel:
        """A connection to a hub that has checked what this program knows of the log."""
        while True:
            epochs, seen = self.epochs, self.seen
            try:
                channel = Channel(msgspec.structs.replace(self.way, epochs=epochs, seen=seen))
            except TailLostError as lost:
                if lost.common >= seen:
                    raise  # the error does not come from a hub
                with self._lock:
                    if self.epochs is epochs and self.seen > lost.common:
                        self.lost, self.seen = lost, lost.common
                continue
            told = channel.welcome.epochs
            with self._lock:
                # Of two concurrent dials, this one may have reached the hub first.
                if not set(told[-1:]) <= set(self.epochs):
                    self.epochs = told
            return channel

    def drop(self, channel: Channel) -> None:
        """Close a connection."""
        with self._lock:
            self._used.discard(channel)
        channel.close()

    def patiently(self, until_s: float) -> Channel:
        """A new connection; retries until *until_s* (monotonic), with backoff.

        A hub that cuts it off, as it does when too many clients connect at once, is
        retried for at least `CUT_S`.

        Raises:
            HubAwayError: The hub could not be reached in that time.
            CortexError: The hub does not admit this client.
        """
        tries, began_s = 0, steady_s()
        while True:
            try:
                return self.dial()
            except Gone as gone:
                over_s = max(until_s, began_s + CUT_S) if gone.cut else until_s
                left_s = over_s - steady_s()
                if left_s <= 0:
                    raise HubAwayError(self.url, str(gone)) from None
                # The clients of a restarted hub must not all dial at the same time.
                tries += 1
                pause_s = min(left_s, BACKOFF.after_s(tries) * JITTER.uniform(0.5, 1.5))
                if self.closed.wait(lasting(pause_s)):
                    raise HubClosedError from None

    def exchange(self, frame: Frame, wait_s: float, until_s: float) -> Sequence[Answer]:
        """The answers to *frame* on its own connection; sent again if a connection is lost.

        Raises:
            HubAwayError: The hub could not be reached until *until_s*.
        """
        while True:
            with self._lock:
                channel = self._spare.pop() if self._spare else None
            fresh = channel is None
            if channel is None:
                channel = self.patiently(until_s)
            try:
                answers = channel.exchange(frame, wait_s)
            except Gone as gone:
                self.drop(channel)
                if self.closed.is_set():
                    raise HubClosedError from None
                if fresh and steady_s() > until_s:
                    raise HubAwayError(self.url, str(gone)) from None
            except BaseException:
                self.drop(channel)  # an answer may still come
                raise
            else:
                self._keep(channel)
                return answers

    def close(self) -> None:
        """Close all connections; callers that wait for an answer get an error."""
        self.closed.set()
        with self._lock:
            spare, self._spare = self._spare, []
            used = list(self._used)
        for channel in spare:
            self.drop(channel)
        for channel in used:
            channel.cut()

    def _keep(self, channel: Channel) -> None:
        with self._lock:
            if len(self._spare) < SPARE and not self.closed.is_set():
                self._spare.append(channel)
                return
        self.drop(channel)


class KeptConnection:
    """A connection that a thread keeps for one purpose, and reopens until it is closed."""

    def __init__(
        self,
        lines: ConnectionPool,
        name: str,
        begin: Callable[[Channel], None],
        turn: Callable[[Channel], None],
    ) -> None:
        self._lines, self._begin, self._turn = lines, begin, turn
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait until the thread has ended, which happens once the pool is closed.

        It does not wait for a thread that is dialling a hub that does not answer.
        """
        if self._thread is not threading.current_thread():
            self._thread.join(lasting(CLOSE_S))

    def _run(self) -> None:
        failures, closed = 0, self._lines.closed
        while not closed.is_set():
            channel, pause_s = None, 0.0
            try:
                channel = self._lines.dial()
                self._begin(channel)
                while not closed.is_set():
                    self._turn(channel)
                    failures = 0
            except Gone:
                pass  # the hub is unreachable: try again
            except CortexError as error:
                if isinstance(error, ClientDeniedError):
                    pause_s = BACKOFF.longest_s  # it may be admitted again, but not soon
            if channel is not None:
                self._lines.drop(channel)
            failures += 1
            pause_s = max(pause_s, BACKOFF.after_s(failures))
            closed.wait(lasting(pause_s * JITTER.uniform(0.5, 1.5)))
