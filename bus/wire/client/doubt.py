"""Settles a frame that was sent and never answered, before anything else is sent.

A frame whose answer did not come in time may wait in a socket of a stopped hub, and be read later.
So the next caller first makes the hub *settle* its number: the hub returns the answers if the frame
was done, and otherwise ensures that it never will be. If a caller then repeats the same request, it
gets those answers, so a retry is safe.
"""

from collections import OrderedDict
from collections.abc import Sequence

from ...errors import CortexError, OutcomeUnknownError
from ...requests import Answer, Request
from ..frames import Settled

KEPT = 1_024  # outcomes of abandoned requests; the oldest are forgotten first
KEPT_S = 600.0  # the same request after this time is a new one

Asked = tuple[str, tuple[Request, ...]]  # source and requests


class Outcomes:
    """Outcomes of requests whose callers got `OutcomeUnknownError`."""

    def __init__(self) -> None:
        self._known: OrderedDict[Asked, tuple[float, list[list[Answer] | CortexError]]] = (
            OrderedDict()
        )

    def __bool__(self) -> bool:
        return bool(self._known)

    def settle(self, asked: Sequence[Asked], answer: Answer, name: str, now_s: float) -> None:
        """Store the outcome, from the hub, of a frame that held *asked*."""
        if isinstance(answer, Settled):
            if not answer.answers:
                return  # it was not done, and never will be
            if len(answer.answers) == sum(len(requests) for _, requests in asked):
                answers = iter(answer.answers)
                for each in asked:
                    self._keep(each, [next(answers) for _ in each[1]], now_s)
                return
        for each in asked:
            self._keep(each, OutcomeUnknownError(name), now_s)

    def take(self, asked: Asked, now_s: float) -> list[Answer] | CortexError | None:
        """The outcome of the same request, once; None if it is not known."""
        until_s, outcomes = self._known.get(asked, (0.0, []))
        if not outcomes:
            return None
        found = outcomes.pop(0) if now_s <= until_s else None
        if found is None or not outcomes:
            del self._known[asked]
        return found

    def _keep(self, asked: Asked, outcome: list[Answer] | CortexError, now_s: float) -> None:
        _, outcomes = self._known.pop(asked, (0.0, []))
        self._known[asked] = (now_s + KEPT_S, [*outcomes, outcome])
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
