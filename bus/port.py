"""The interface of a hub that a client uses, for a local and for a remote hub."""

from collections.abc import Callable, Sequence
from typing import Protocol

from .clock import Clock
from .epochs import Epochs
from .errors import TailLostError
from .event import Event, Query
from .requests import Answer, Fetch, Page, Request

Wake = Callable[[], None]
Asked = Callable[[Query, float], Event]


class HubPort(Protocol):
    """The interface of a hub: `LocalHub` in this process, `RemoteHub` elsewhere."""

    clock: Clock
    steady_ns: Callable[[], int]  # the clock for leases, backoffs and waits

    @property
    def head(self) -> int:
        """Position of the newest durable event."""
        ...

    @property
    def epochs(self) -> Epochs:
        """Epochs of the log, the newest last; the same object while the hub is the same."""
        ...

    @property
    def seen(self) -> int:
        """The newest position that this program has seen; 0 in the hub's own process."""
        ...

    @property
    def lost(self) -> TailLostError | None:
        """The last time that the log lost events which this program had seen."""
        ...

    @property
    def away(self) -> bool:
        """Whether the hub was unreachable at the last attempt."""
        ...

    def submit(self, client: str, requests: Sequence[Request]) -> list[Answer]:
        """Answer *requests* once everything they changed is durable; refusals are answers too.

        Raises:
            LogError: The log could not be written; nothing of these requests was kept.
            HubClosedError: The hub was closed before.
            HubAwayError: The hub could not be reached for longer than a client waits; nothing of
                these requests was sent.
            OutcomeUnknownError: They were sent, and no answer came in that time. If they are sent
                again, the hub answers with their outcome, and does not do them twice.
        """
        ...

    def ask_one(self, client: str, request: Request) -> Answer:
        """Answer one request; a refusal is raised."""
        ...

    def fetch(self, request: Fetch, wait_s: float = 0.0) -> Page:
        """The next page; waits up to *wait_s* if there is nothing yet."""
        ...

    def watch(self, subscription: str, wake: Wake) -> None:
        """Call *wake* whenever *subscription* may have something new; it must return at once."""
        ...

    def unwatch(self, subscription: str, wake: Wake) -> None:
        """Undo a `watch`."""
        ...

    def alarm(self, at_ns: int, wake: Wake) -> None:
        """Call *wake* once at *at_ns* (steady); it must return soon."""
        ...

    def answer(self, query: type[Event], asked: Asked) -> None:
        """Let *asked* answer every query of this class."""
        ...

    def unanswer(self, query: type[Event]) -> None:
        """Undo an `answer`."""
        ...

    def ask(self, query: Query, timeout_s: float) -> Event:
        """Ask *query* of the component that answers it; the log does not record it."""
        ...

    def last_number(self, client: str) -> int:
        """The number of the newest numbered publish under this name; 0 if there is none."""
        ...

    def close(self) -> None:
        """Disconnect from the hub; what was acknowledged is on disk."""
        ...
