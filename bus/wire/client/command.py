"""The command connection: requests of all threads collect while a frame is on its way.

The thread that holds the turn sends for all that wait, as in `LocalHub`: a single caller pays for
no hand-over between threads, and under load the frames grow by themselves. A frame whose answer
was lost is sent again, with its number, before anything else. If its caller can wait no
longer, the next frame first asks the hub for its outcome (see `doubt.py`).
"""

import contextlib
import secrets
import threading
from collections import deque
from collections.abc import Sequence

import msgspec

from ...clock import lasting, steady_s
from ...errors import (
    CortexError,
    DiskFullError,
    FrameError,
    FrameTooLargeError,
    HubAwayError,
    HubClosedError,
    HubFailedError,
    LogError,
    OutcomeUnknownError,
)
from ...hub.idempotency import TAG_SHIFT
from ...requests import (
    Answer,
    Commit,
    Finish,
    Publish,
    Refused,
    Release,
    Renew,
    Request,
    Subscribe,
    Unsubscribe,
)
from ..frames import FRAME_BYTES, ONCE, Failed, Frame, Gone, Settle, SourceRequests
from .channel import Channel
from .connection_pool import CLOSE_S, ConnectionPool
from .doubt import Asked, Outcomes

FULL_BYTES = 1 << 20  # a frame of this size takes no more requests
FULL_REQUESTS = 512
BUFFER_BYTES = 16 << 20  # of requests that wait for an unreachable hub
BUFFER_REQUESTS = 10_000
OVERHEAD_BYTES = 200  # about the size of an event without its body
TAG_BITS = 31


class Ticket:
    """The requests of one caller, and their answers."""

    __slots__ = ("answers", "error", "once", "requests", "size_bytes", "source", "until_s")

    def __init__(self, source: str, requests: Sequence[Request], until_s: float) -> None:
        self.source, self.requests, self.until_s = source, requests, until_s
        self.once = all(isinstance(r, ONCE) for r in requests)
        self.size_bytes = sum(map(_size_of, requests))
        self.answers: list[Answer] | None = None
        self.error: BaseException | None = None

    @property
    def leaves(self) -> bool:
        """Whether the outcome is of interest if the answer is lost.

        Feeds end with their client, so that for them only the reason of the end matters.
        """
        return not all(map(_passes, self.requests))

    @property
    def done(self) -> bool:
        """Whether it is answered, or will never be."""
        return self.answers is not None or self.error is not None


class _Flight(msgspec.Struct):
    frame: Frame
    tickets: list[Ticket]
    until_s: float
    sent: bool = False  # sent whole, so that the hub may have done it


class Command:
    """Sends requests in order, each once."""

    def __init__(self, lines: ConnectionPool, away_s: float) -> None:
        self._lines, self._away_s = lines, away_s
        self._turn = threading.Lock()  # its holder sends
        self._counting = threading.Lock()
        self._waiting: deque[Ticket] = deque()
        self._waiting_bytes = self._waiting_requests = 0
        self._channel: Channel | None = None
        self._flight: _Flight | None = None  # sent or about to be sent, and not answered
        self._doubt: _Flight | None = None  # sent, and abandoned without an answer
        self._outcomes = Outcomes()
        self._name = ""
        self._tag = secrets.randbits(TAG_BITS)
        self._number = 0

    def take(self, channel: Channel) -> None:
        """Use a connection that exists already."""
        with self._turn:
            self._channel, self._name = channel, channel.welcome.client

    def ask(self, source: str, requests: Sequence[Request]) -> list[Answer]:
        """The answers to *requests*.

        Raises:
            HubAwayError: The hub was unreachable for too long, or too many requests wait; none of
                these was sent.
            OutcomeUnknownError: They were sent, and it is not known whether they were done. The
                same requests again are safe: a request that was done is answered, not repeated.
            LogError: The hub could not write them.
        """
        ticket = Ticket(source, requests, steady_s() + self._away_s)
        self._enqueue(ticket)
        with self._turn:
            while not ticket.done:
                self._drive()
        if ticket.error is not None:
            raise ticket.error
        return ticket.answers or []

    def close(self) -> None:
        """Drop the connection, once the pool is closed."""
        if self._turn.acquire(
            timeout=lasting(CLOSE_S)
        ):  # a thread that is dialling drops it by itself
            try:
                self._drop()
            finally:
                self._turn.release()

    def _enqueue(self, ticket: Ticket) -> None:
        if ticket.size_bytes > FRAME_BYTES:
            raise FrameTooLargeError(ticket.size_bytes, FRAME_BYTES)
        with self._counting:
            if self._lines.closed.is_set():
                raise HubClosedError
            full = self._waiting_bytes + ticket.size_bytes > BUFFER_BYTES
            if self._waiting and (full or self._waiting_requests >= BUFFER_REQUESTS):
                raise HubAwayError(self._lines.url, "too many requests wait for it already")
            self._waiting.append(ticket)
            self._waiting_bytes += ticket.size_bytes
            self._waiting_requests += len(ticket.requests)

    def _drive(self) -> None:
        """Send one frame, and deliver its answers."""
        if self._flight is None:
            self._flight = self._gathered()
        flight = self._flight
        try:
            self._resolve(flight)
            answers = iter(self._delivered(flight) if flight.tickets else ())
        except CortexError as error:
            unknown = flight.sent and flight.frame.number > 0
            if unknown or (isinstance(error, HubFailedError) and flight.frame.number):
                self._doubt = flight
            for ticket in flight.tickets:
                ticket.error = self._unknown(error) if unknown and ticket.leaves else error
        else:
            for ticket in flight.tickets:
                _settle(ticket, [next(answers) for _ in ticket.requests])
        self._flight = None

    def _unknown(self, error: CortexError) -> OutcomeUnknownError:
        unknown = OutcomeUnknownError(self._name)
        unknown.__cause__ = error
        return unknown

    def _gathered(self) -> _Flight:
        """The waiting requests as one frame: neighbours of one kind, numbered or not."""
        tickets: list[Ticket] = []
        size_bytes = requests = 0
        with self._counting:
            while self._waiting:
                ticket = self._waiting[0]
                full = size_bytes + ticket.size_bytes > FULL_BYTES or requests >= FULL_REQUESTS
                if tickets and (full or ticket.once != tickets[0].once):
                    break
                tickets.append(self._waiting.popleft())
                size_bytes += ticket.size_bytes
                requests += len(ticket.requests)
            self._waiting_bytes -= size_bytes
            self._waiting_requests -= requests
        number = 0
        if tickets[0].once:
            self._number += 1
            number = self._tag << TAG_SHIFT | self._number
        return _Flight(Frame(number, False, _parts(tickets)), tickets, tickets[0].until_s)

    def _resolve(self, flight: _Flight) -> None:
        """Ask the hub for the outcome of the frame in doubt; it may answer parts of *flight*."""
        doubt = self._doubt
        if doubt is not None:
            frame = Frame(doubt.frame.number, True, (SourceRequests("", (Settle(),)),))
            answer: Answer
            try:
                answer = self._delivered(_Flight(frame, [], flight.until_s))[0]
            except FrameError as error:  # the hub is too old to have this request
                answer = Refused.of(error)
            asked = [_asked(ticket) for ticket in doubt.tickets]
            self._outcomes.settle(asked, answer, self._name, steady_s())
            self._doubt = None
        if not self._outcomes:
            return
        left: list[Ticket] = []
        for ticket in flight.tickets:
            outcome = self._outcomes.take(_asked(ticket), steady_s())
            if outcome is None:
                left.append(ticket)
            elif isinstance(outcome, CortexError):
                ticket.error = outcome
            else:
                _settle(ticket, outcome)
        flight.tickets = left
        flight.frame = msgspec.structs.replace(flight.frame, parts=_parts(left))

    def _delivered(self, flight: _Flight) -> Sequence[Answer]:
        while True:
            try:
                if self._channel is None:
                    self._channel = self._lines.patiently(flight.until_s)
                answers = self._channel.exchange(flight.frame)
            except Gone as gone:
                flight.sent |= self._drop()
                if self._lines.closed.is_set():
                    raise HubClosedError from None
                flight.frame = msgspec.structs.replace(flight.frame, repeat=True)
                if steady_s() > flight.until_s:
                    raise HubAwayError(self._lines.url, str(gone)) from None
            except CortexError:  # the hub has closed the connection as well
                flight.sent |= self._drop()
                raise
            except BaseException:  # Ctrl-C: the next caller asks for the outcome
                flight.sent |= self._drop()
                flight.frame = msgspec.structs.replace(flight.frame, repeat=True)
                raise
            else:
                return answers

    def _drop(self) -> bool:
        """Drop the connection; return whether a frame sent on it is unanswered."""
        channel, self._channel = self._channel, None
        if channel is None:
            return False
        with contextlib.suppress(OSError):
            self._lines.drop(channel)
        return channel.unanswered


def _parts(tickets: Sequence[Ticket]) -> tuple[SourceRequests, ...]:
    return tuple(SourceRequests(t.source, tuple(t.requests)) for t in tickets)  # type: ignore[arg-type]  # a union of all of them


def _passes(request: Request) -> bool:
    return isinstance(request, Unsubscribe) or (
        isinstance(request, Subscribe) and not request.lasting
    )


def _asked(ticket: Ticket) -> Asked:
    """The requests, without what was known of the log when they were made."""
    return ticket.source, tuple(map(_unstamped, ticket.requests))


def _unstamped(request: Request) -> Request:
    match request:
        case Publish():
            return msgspec.structs.replace(request, log_epoch=0, seen=0)
        case Commit() | Finish() | Renew() | Release():
            return msgspec.structs.replace(request, log_epoch=0)
        case _:
            return request


def _settle(ticket: Ticket, answers: list[Answer]) -> None:
    for answer in answers:
        if isinstance(answer, Failed):
            ticket.error = (DiskFullError if answer.full else LogError)(answer.text)
            return
    ticket.answers = answers


def _size_of(request: Request) -> int:
    if isinstance(request, Publish | Commit | Finish):
        due = sum(len(d.draft.body) + OVERHEAD_BYTES for d in request.due)
        return due + sum(len(d.body) + OVERHEAD_BYTES for d in request.events)
    return OVERHEAD_BYTES
