"""The four requests that may wait: `Fetch`, `Await`, `Listen` and `Ask`."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import msgspec

from ...errors import AskTimeoutError, CortexError, FrameError, HubClosedError
from ...requests import Answer, Fetch, Page, Refused, Request
from ..frames import WAIT_S, Ask, Asked, Await, Listen, Woken
from .carrier import Context
from .connected_client import ConnectedClient
from .dispatcher import Dispatcher
from .pending import Owed, Pending
from .questions import Give
from .rights import Rights

ASK_S = 3_600.0  # the longest wait for an answer
SHORT_NS = 1_000_000_000  # how often to check that the client is still admitted

Ends = Callable[[Answer], bytes]  # the whole answer, with this as its last part


class Hands(Protocol):
    """Runs what must not run in the receiving thread."""

    def soon(self, job: Callable[[], None]) -> None:
        """Run *job* soon: in the receiving thread after its answer, or in a worker."""
        ...

    def elsewhere(self, job: Callable[[], None]) -> None:
        """Run *job*, which may take long, in a worker."""
        ...

    def due(self, at_ns: int) -> None:
        """Check pending answers that are late at *at_ns*."""
        ...


class Waiting:
    """The requests of one connection that wait."""

    def __init__(self, dispatcher: Dispatcher, pending: Pending, hands: Hands) -> None:
        self._dispatcher, self._pending, self._hands = dispatcher, pending, hands
        self._steady_ns = dispatcher.hub.steady_ns
        self._watching = ""  # the subscription that wakes it

    def answer(
        self,
        context: Context,
        program: ConnectedClient,
        rights: Rights,
        request: Request,
        ends: Ends,
    ) -> bytes | None:
        """The answer, if it is there; otherwise it is pending."""
        match request:
            case Fetch():
                return self._fetch(context, rights, request, ends)
            case Await():
                return self._await(context, program, request, ends)
            case Listen():
                return self._listen(context, program, request, ends)
            case Ask():
                return self._ask(context, request, ends)
            case _:
                raise FrameError(f"{type(request).__name__} does not wait")

    def owe(self, owed: Owed) -> None:
        """Answer later, at the latest when its time is over."""
        self._pending.owe(owed)
        self._hands.due(min(owed.until_ns, self._steady_ns() + SHORT_NS))

    def leave(self) -> None:
        """The connection has ended."""
        if self._watching:
            self._dispatcher.hub.unwatch(self._watching, self._pending.ring)
            self._watching = ""

    def _fetch(self, context: Context, rights: Rights, request: Fetch, ends: Ends) -> bytes | None:
        """The next page; an empty one once the time is over."""
        fetching = _Fetching(self._dispatcher, rights, request)
        if self._watching != request.subscription:
            self.leave()
            self._dispatcher.hub.watch(request.subscription, self._pending.ring)
            self._watching = request.subscription
        until_ns = self._until_ns(request.wait_s, WAIT_S)
        owed = Owed(context, until_ns, ends, lambda: ends(fetching.found), fetching.look)
        self._pending.hush()
        data = self._unless_there(owed, fetching.page())
        if data is None and fetching.behind:  # the first of many pages had no event for it
            self._pending.ring(self._hands.elsewhere)
        return data

    def _await(
        self, context: Context, program: ConnectedClient, request: Await, ends: Ends
    ) -> bytes | None:
        def look() -> Answer | None:
            woken = program.woken(self._pending.ring)
            return Woken(woken) if woken else None

        until_ns = self._until_ns(request.wait_s, WAIT_S)
        self._pending.hush()
        owed = Owed(context, until_ns, ends, lambda: ends(Woken(())), look)
        return self._unless_there(owed, look())

    def _unless_there(self, owed: Owed, found: Answer | None) -> bytes | None:
        if found is not None:
            return owed.send(found)
        if owed.until_ns <= self._steady_ns():
            return owed.late()
        self.owe(owed)
        self._pending.ring_again()
        return None

    def _listen(
        self, context: Context, program: ConnectedClient, request: Listen, ends: Ends
    ) -> bytes | None:
        questions = self._dispatcher.questions

        def forget() -> None:
            questions.no_more(program.answerer, give)

        def late() -> bytes:
            forget()
            return ends(Asked(0))

        owed = Owed(context, self._until_ns(request.wait_s, WAIT_S), ends, late, forget=forget)
        give = partial(self._pending.give, owed)
        self.owe(owed)
        questions.listen(program.answerer, give)
        if self._pending.owed is not owed:  # it may have ended before it was in the list
            forget()
        return None

    def _ask(self, context: Context, request: Ask, ends: Ends) -> bytes | None:
        questions, asked = self._dispatcher.questions, 0

        def forget() -> None:
            questions.forget(asked)

        def late() -> bytes:
            forget()
            return ends(Refused.of(AskTimeoutError(request.topic, request.timeout_s)))

        timeout_s = _seconds(request.timeout_s, ASK_S)
        owed = Owed(context, self._until_ns(timeout_s, ASK_S), ends, late, forget=forget)
        give = partial(self._pending.give, owed)
        self.owe(owed)
        try:
            found = questions.ask(request.topic, request.body, timeout_s, give)
        except CortexError as error:
            give(Refused.of(error))
            return None
        if found is not None:
            asked = found
            if self._pending.owed is not owed:  # it may have ended before it had a number
                forget()
            return None
        self._hands.elsewhere(lambda: self._ask_here(request, timeout_s, give))
        return None

    def _ask_here(self, request: Ask, timeout_s: float, give: Give) -> None:
        try:
            give(self._dispatcher.questions.here(request.topic, request.body, timeout_s))
        except Exception as error:  # noqa: BLE001  # a defect: it is recorded, and the asker told
            self._pending.fail(error)

    def _until_ns(self, wait_s: float, most_s: float) -> int:
        return self._steady_ns() + int(_seconds(wait_s, most_s) * 1e9)


class _Fetching:
    """A fetch that waits: reads pages until one has an event."""

    def __init__(self, dispatcher: Dispatcher, rights: Rights, request: Fetch) -> None:
        self._dispatcher, self._rights, self._request = dispatcher, rights, request
        self.found: Answer = Page((), request.after)  # the last examined page
        self.behind = False

    def look(self) -> Answer | None:
        """A page with events; None if there are none. A refusal is an answer, too."""
        while True:
            found = self.page()
            if found is not None or not self.behind:
                return found

    def page(self) -> Answer | None:
        """The same for the next page; *behind*: more pages may follow."""
        try:
            page = self._dispatcher.page(self._rights, self._request)
        except HubClosedError:
            raise
        except CortexError as error:
            return Refused.of(error)
        self.found, self.behind = page, page.through < self._dispatcher.hub.head
        self._request = msgspec.structs.replace(
            self._request, after=page.through, ring_after=page.ring_through
        )
        return page if page.records or page.ephemeral or page.dropped > 0 else None


def _seconds(wanted: float, most: float) -> float:
    """A time from a client, cut to its bounds; 0 for NaN."""
    return min(wanted, most) if wanted > 0 else 0.0
