"""Requests of many threads share transactions (flat combining).

The thread that holds the caller's lock writes for all that wait: a single caller pays for no thread
switch, and under load the batches grow by themselves.
"""

from collections import deque
from collections.abc import Callable, Sequence

from .errors import CortexError
from .requests import Answer, Request

BATCH_REQUESTS = 512  # tickets per transaction, so that none waits long


class Ticket:
    """The requests of one caller, until they are answered or failed."""

    __slots__ = ("answers", "client", "error", "requests")

    def __init__(self, client: str, requests: Sequence[Request]) -> None:
        self.client = client
        self.requests = requests
        self.answers: list[Answer] | None = None
        self.error: BaseException | None = None


class Combiner:
    """Collects tickets of all threads, and answers them in one transaction.

    Args:
        handle: Answers (client, request) pairs in one transaction. A `CortexError` fails them all;
            any other exception is a defect.
        torn: Whether the last transaction was interrupted, so that it is unknown what it wrote.
    """

    def __init__(
        self,
        handle: Callable[[Sequence[tuple[str, Request]]], list[Answer]],
        torn: Callable[[], bool],
    ) -> None:
        self._handle, self._torn = handle, torn
        self._waiting: deque[Ticket] = deque()

    def __len__(self) -> int:
        """How many tickets wait."""
        return len(self._waiting)

    def add(self, client: str, requests: Sequence[Request]) -> Ticket:
        """A ticket that waits; whoever drains next answers it."""
        ticket = Ticket(client, requests)
        self._waiting.append(ticket)
        return ticket

    def drain(self) -> None:
        """Answer or fail what waits; only the holder of the caller's lock may."""
        tickets: list[Ticket] = []
        while self._waiting and len(tickets) < BATCH_REQUESTS:
            tickets.append(self._waiting.popleft())
        try:
            self._answer(tickets)
        except BaseException as error:  # noqa: BLE001  # each waiting caller must be told
            for ticket in tickets:
                if ticket.answers is None:
                    ticket.error = error

    def _answer(self, tickets: Sequence[Ticket]) -> None:
        flat = [(t.client, request) for t in tickets for request in t.requests]
        try:
            answers = self._handle(flat)
        except CortexError:
            raise
        except Exception:  # a defect before any write affects only its own caller
            if len(tickets) == 1 or self._torn():
                raise
            self._answer_apart(tickets)
            return
        if len(tickets) == 1:
            tickets[0].answers = answers
            return
        first = 0
        for ticket in tickets:
            after = first + len(ticket.requests)
            ticket.answers, first = answers[first:after], after

    def _answer_apart(self, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            try:
                self._answer((ticket,))
            except Exception as error:  # noqa: BLE001  # it is this caller's, the next has its turn
                ticket.error = error
