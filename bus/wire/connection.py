"""One connection at a hub: a hello, then one frame and its answer at a time.

Whoever receives a frame answers it. What has to wait (`Listen`, `Ask`, `Await`, a `Fetch` of what
is not there yet) is *owed*: the frame's context is kept, no thread is, and whoever has the answer
sends it. Lock-step holds all the same: a frame that comes before the answer ends the connection.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from ..access import Peer
from ..epochs import TOLD
from ..errors import (
    AskTimeoutError,
    ClientDeniedError,
    CortexError,
    FrameError,
    FrameTooLargeError,
    HubClosedError,
    VersionError,
    WireError,
)
from ..requests import Answer, Fetch, Page, Refused
from .carrier import UNUSED, Carrier, Context, Pipe, peer_of
from .desk import Asked as Asking
from .desk import Desk
from .failures import Failures
from .frames import (
    FRAME_BYTES,
    HELLO_BYTES,
    PAGE_BYTES,
    VERSIONS,
    WAIT_S,
    WAITS,
    Ask,
    Asked,
    Await,
    Frame,
    Hello,
    Listen,
    Welcome,
    Woken,
    read_frame,
)
from .gone import Gone
from .link import Link
from .questions import Give
from .rights import Rights

FRAME_REQUESTS = 1_024  # of one frame, and so of the answers that are kept for it
ASK_S = 3_600.0  # nobody waits longer for an answer
LINGER_NS = 500_000_000  # after a refusal that ends a connection, for the client to read it
SHORT_S = 1.0  # how often it is asked whether a client still may be here
EARLY = "a request came before the answer to the one before"

encode = msgspec.msgpack.Encoder().encode


class Door(Protocol):
    """What a connection needs of the server that accepted it."""

    desk: Desk
    failures: Failures
    carrier: Carrier

    def admitted(self, connection: "Connection", hello: Hello, peer: Peer) -> Link:
        """The link of a client that is let in.

        Raises:
            ClientDeniedError: It is not.
        """
        ...

    def soon(self, job: Callable[[], None]) -> None:
        """Do *job* soon: in the thread that receives after its answer, or in a worker."""
        ...

    def elsewhere(self, job: Callable[[], None]) -> None:
        """Do *job*, which may take its time, in a worker."""
        ...

    def due(self, at_ns: int) -> None:
        """Look at what is owed and late at *at_ns*."""
        ...


class _Owed(msgspec.Struct, eq=False):
    context: Context
    until_ns: int
    send: Callable[[Answer], bytes]  # the whole answer, with this as its last part
    late: Callable[[], bytes | None]  # what is answered once the time is over; None: it goes on
    look: Callable[[], Answer | None] | None = None  # whether it has come
    forget: Callable[[], None] | None = None  # where nobody waits for it any more

    def drop(self) -> None:
        """Nobody waits for it any more."""
        if self.forget is not None:
            self.forget()


class Connection:
    """One client's connection; what comes by it is taken by any thread, one frame at a time."""

    def __init__(self, door: Door, pipe: Pipe) -> None:
        self._door, self._desk, self.pipe = door, door.desk, pipe
        self.networked = pipe.carrier != "ipc"  # not from this machine's own user
        self.pushed = False  # cut for another stranger
        self.reason = ""  # why the hub ends it
        self.over_ns: int | None = None  # when it is cut, after a refusal
        self.link: Link | None = None
        self.rights: Rights | None = None
        self._steady_ns = door.desk.hub.steady_ns
        self._checked_ns = self._steady_ns()
        self._turn = threading.Lock()  # held from a frame to its answer
        self._owing = threading.Lock()
        self._owed: _Owed | None = None
        self._rung = self._looking = self._left = False
        self._watching = ""  # the subscription that rings

    def take(self, context: Context, body: bytes) -> bytes | None:
        """Answer the frame *body*; None where it is owed. Lets nothing escape."""
        if not self._turn.acquire(blocking=False):
            self._end(FrameError(EARLY))
            return UNUSED
        return self._guarded(lambda: self._answered(context, body))

    def go_on(self, context: Context, body: bytes) -> None:
        """Answer a frame that was held up before anybody looked at it."""
        self._sent(context, self.take(context, body))

    def cut(self, reason: str = "") -> None:
        """End it, from any thread."""
        self.reason = self.reason or reason
        self._door.carrier.cut(self.pipe.number)

    def look_at_the_time(self, now_ns: int) -> int | None:
        """Do what is late by now; when there is something to do next."""
        if self.over_ns is not None:
            if now_ns >= self.over_ns:
                self.cut()
            return self.over_ns
        owed = self._owed
        if owed is None:
            return None
        if now_ns >= owed.until_ns:
            self._door.elsewhere(lambda: self._overdue(owed))
            return None
        self._check_owed()
        return min(owed.until_ns, now_ns + int(SHORT_S * 1e9))

    def leave(self) -> None:
        """It has ended: nobody waits for an answer, so that nobody is to work for it."""
        with self._owing:
            owed, self._owed, self._left = self._owed, None, True
        if owed is not None:
            owed.drop()
            self._door.carrier.give_back(owed.context)
        self._unwatch()

    def _guarded(self, answered: Callable[[], bytes | None]) -> bytes | None:
        """What is answered; the turn ends with it, unless the connection does."""
        try:
            data = answered()
        except (Gone, HubClosedError) as gone:  # who is closed may be up again: it is to come again
            self.cut(str(gone))
            return UNUSED
        except CortexError as error:
            return self._refusal(error)
        except Exception as error:  # noqa: BLE001  # one connection must not end the others
            client = self.link.client if self.link else ""
            return self._refusal(self._door.failures.note(client, error))
        if data is not None:
            self._turn.release()
        return data

    def _sent(self, context: Context, data: bytes | None) -> None:
        if data:
            self._door.carrier.answer(self.pipe.number, context, data)
        elif data is not None:
            self._door.carrier.give_back(context)

    def _answered(self, context: Context, body: bytes) -> bytes | None:
        link, rights = self.link, self.rights
        if link is None or rights is None:
            return encode([self._let_in(_hello(body))])
        self._check_standing(link)
        frame, asked = _asked(body)
        usage = link.usage
        if usage is None:
            return self._answer(context, link, rights, frame, asked, encode)

        def send(answers: list[Answer]) -> bytes:
            data = encode(answers)
            usage.count(asked, len(body) + len(data))
            return data

        def late() -> bytes | None:
            if over is None:
                return self._answer(context, link, rights, frame, asked, send)
            self._desk.access.limited(over.client, over.what, over.limit)
            return encode([Refused.of(over)] * len(asked))

        wait_ns, over = usage.hold_back()
        if wait_ns <= 0:
            return late()
        self._owe(_Owed(context, self._steady_ns() + wait_ns, _nothing, late))
        return None

    def _let_in(self, hello: Hello) -> Welcome:
        common = set(hello.versions) & set(VERSIONS)
        if not common:
            raise VersionError(_named(hello.versions), _named(VERSIONS))
        peer = peer_of(self.pipe, *self._door.carrier.certificate(self.pipe.number))
        link = self._door.admitted(self, hello, peer)
        self.rights = Rights(self._desk.access, self._desk.hub, link.client)
        hub = self._desk.hub
        hub.meet(link.client, hello.epochs, hello.seen)
        bounds = FRAME_BYTES, PAGE_BYTES, WAIT_S
        return Welcome(link.client, max(common), *bounds, hub.head, hub.epochs[-TOLD:])

    def _answer(
        self,
        context: Context,
        link: Link,
        rights: Rights,
        frame: Frame,
        asked: Sequence[Asking],
        send: Callable[[list[Answer]], bytes],
    ) -> bytes | None:
        last = asked[-1][1]
        if not (isinstance(last, WAITS) or (isinstance(last, Fetch) and last.wait_s > 0)):
            return send(self._desk.answers(link, rights, frame, asked))
        before = self._desk.answers(link, rights, frame, asked[:-1]) if len(asked) > 1 else []
        problem = rights.problem("", last)
        if problem is not None:
            return send([*before, Refused.of(problem)])

        def ends(answer: Answer) -> bytes:
            return send([*before, answer])

        match last:
            case Fetch():
                return self._fetch(context, rights, last, ends)
            case Await():
                return self._await(context, link, last, ends)
            case Listen():
                return self._listen(context, link, last, ends)
            case Ask():
                return self._ask(context, last, ends)
            case _:
                raise FrameError(f"{type(last).__name__} does not wait")

    def _fetch(
        self, context: Context, rights: Rights, request: Fetch, ends: Callable[[Answer], bytes]
    ) -> bytes | None:
        """The next page; an empty one once the time is over."""
        fetching = _Fetching(self._desk, rights, request)
        self._watch(request.subscription)
        until_ns = self._until_ns(request.wait_s, WAIT_S)
        return self._unless_there(
            _Owed(context, until_ns, ends, lambda: ends(fetching.found), fetching.look)
        )

    def _await(
        self, context: Context, link: Link, request: Await, ends: Callable[[Answer], bytes]
    ) -> bytes | None:
        def look() -> Answer | None:
            woken = link.woken(self._ring)
            return Woken(woken) if woken else None

        until_ns = self._until_ns(request.wait_s, WAIT_S)
        return self._unless_there(_Owed(context, until_ns, ends, lambda: ends(Woken(())), look))

    def _unless_there(self, owed: _Owed) -> bytes | None:
        """The answer, where it is there or is not waited for; otherwise it is owed."""
        self._rung = False
        answer = owed.look() if owed.look is not None else None
        if answer is not None:
            return owed.send(answer)
        if owed.until_ns <= self._steady_ns():
            return owed.late()
        self._owe(owed)
        if self._rung:  # meanwhile
            self._ring()
        return None

    def _listen(
        self, context: Context, link: Link, request: Listen, ends: Callable[[Answer], bytes]
    ) -> bytes | None:
        questions = self._desk.questions

        def forget() -> None:
            questions.no_more(link.answerer, give)

        def late() -> bytes:
            forget()
            return ends(Asked(0))

        until_ns = self._until_ns(request.wait_s, WAIT_S)
        give = self._owe(_Owed(context, until_ns, ends, late, forget=forget))
        question = questions.listen(link.answerer, give)
        if question is not None:
            give(question)
        return None

    def _ask(self, context: Context, request: Ask, ends: Callable[[Answer], bytes]) -> bytes | None:
        questions, asked = self._desk.questions, 0

        def forget() -> None:
            questions.forget(asked)

        def late() -> bytes:
            forget()
            return ends(Refused.of(AskTimeoutError(request.topic, request.timeout_s)))

        timeout_s = _seconds(request.timeout_s, ASK_S)
        until_ns = self._until_ns(timeout_s, ASK_S)
        give = self._owe(_Owed(context, until_ns, ends, late, forget=forget))
        try:
            found = questions.ask(request.topic, request.body, timeout_s, give)
        except CortexError as error:
            give(Refused.of(error))
            return None
        if found is not None:
            asked = found
            return None
        self._door.elsewhere(lambda: self._ask_here(request, timeout_s, give))
        return None

    def _ask_here(self, request: Ask, timeout_s: float, give: Give) -> None:
        try:
            give(self._desk.questions.here(request.topic, request.body, timeout_s))
        except Exception as error:  # noqa: BLE001  # a defect: it is recorded, and the asker told
            self._give_up(error)

    def _until_ns(self, wait_s: float, most_s: float) -> int:
        return self._steady_ns() + int(_seconds(wait_s, most_s) * 1e9)

    def _owe(self, owed: _Owed) -> Give:
        with self._owing:
            if self._left:
                raise Gone("it has ended")
            self._owed = owed
        self._door.due(min(owed.until_ns, self._steady_ns() + int(SHORT_S * 1e9)))
        return lambda answer: self._give(owed, answer)

    def _give(self, owed: _Owed, answer: Answer) -> bool:
        """Send what is owed, from any thread; False where it is owed no more."""
        return self._settle(owed) and self._sends(owed.context, lambda: owed.send(answer))

    def _settle(self, owed: _Owed | None) -> bool:
        """Whether this is owed; it is not any more."""
        with self._owing:
            if owed is None or self._owed is not owed:
                return False
            self._owed = None
            return True

    def _sends(self, context: Context, answered: Callable[[], bytes | None]) -> bool:
        data = self._guarded(answered)
        self._sent(context, data)
        return bool(data)

    def _overdue(self, owed: _Owed) -> None:
        if self._settle(owed):
            self._sends(owed.context, owed.late)

    def _give_up(self, error: Exception) -> None:
        """Answer what is owed with *error*, and end the connection with it."""

        def failed() -> bytes:
            raise error

        owed = self._owed
        if owed is not None and self._settle(owed):
            owed.drop()
            self._sends(owed.context, failed)

    def _ring(self) -> None:
        """There may be what is waited for."""
        with self._owing:
            self._rung = True
            owed = self._owed
            if owed is None or owed.look is None or self._looking:
                return
            self._looking = True
        self._door.soon(self._look)

    def _look(self) -> None:
        while True:
            with self._owing:
                owed, self._rung = self._owed, False
                if owed is None or owed.look is None:
                    self._looking = False
                    return
            look = owed.look
            answer: Answer | None = None
            try:
                answer = look()
            except Exception as error:  # noqa: BLE001  # it is told apart where it is answered
                self._looking = False
                self._give_up(error)
                return
            with self._owing:
                self._looking = answer is None and self._rung
                again = self._looking
            if answer is not None:
                self._give(owed, answer)
            if not again:
                return

    def _check_owed(self) -> None:
        """End a wait of a client whose grant has run out, or of a hub that is closed."""
        if self._desk.hub.closed:
            self.cut("the hub was closed")
        elif self.link is not None:
            try:
                self._check_standing(self.link)
            except ClientDeniedError as error:
                self._give_up(error)

    def _check_standing(self, link: Link) -> None:
        """Refuse a client whose grant has run out; asked once a second."""
        now_ns = self._steady_ns()
        if now_ns - self._checked_ns > SHORT_S * 1e9:
            self._checked_ns = now_ns
            if not self._desk.access.standing(link.client):
                raise ClientDeniedError(link.client, "its grant was taken back, or has expired")

    def _watch(self, subscription: str) -> None:
        """Be rung from now on when *subscription* may have something new."""
        if self._watching != subscription:
            self._unwatch()
            self._desk.hub.watch(subscription, self._ring)
            self._watching = subscription

    def _unwatch(self) -> None:
        if self._watching:
            self._desk.hub.unwatch(self._watching, self._ring)
            self._watching = ""

    def _refusal(self, error: CortexError) -> bytes:
        """What says why this is the end; it is recorded, and nothing more is taken."""
        self._note(error)
        # nng drops an answer that it has not passed on when the connection ends: let the client end
        # it, or say something more, which ends it as well.
        self.over_ns = self._steady_ns() + LINGER_NS
        self._door.due(self.over_ns)
        return encode([Refused.of(error)])

    def _end(self, error: CortexError) -> None:
        """End it at once, without an answer."""
        self._note(error)
        self.cut()

    def _note(self, error: CortexError) -> None:
        self.reason = self.reason or str(error)
        if isinstance(error, WireError):
            client = self.link.client if self.link else ""
            self._desk.access.deny(client, "send", type(error).__name__)


class _Fetching:
    """A fetch that waits: looks at pages until there is something in one."""

    def __init__(self, desk: Desk, rights: Rights, request: Fetch) -> None:
        self._desk, self._rights, self._request = desk, rights, request
        self.found: Answer = Page((), request.after, (), request.ring_after, 0)

    def look(self) -> Answer | None:
        """A page with something in it; None where nothing has come. A refusal is an answer, too."""
        while True:
            try:
                page = self._desk.page(self._rights, self._request)
            except HubClosedError:
                raise
            except CortexError as error:
                return Refused.of(error)
            self.found = page
            if page.records or page.ephemeral or page.dropped > 0:
                return page
            self._request = msgspec.structs.replace(
                self._request, after=page.through, ring_after=page.ring_through
            )
            if page.through >= self._desk.hub.head:
                return None


def _asked(body: bytes) -> tuple[Frame, list[Asking]]:
    try:
        frame = read_frame(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FrameError(f"a frame cannot be read ({error})") from None
    asked = [(said.source, request) for said in frame.parts for request in said.requests]
    if not asked:
        raise FrameError("a frame asks nothing")
    if len(asked) > FRAME_REQUESTS:
        raise FrameError(f"a frame asks {len(asked)} things: {FRAME_REQUESTS} at most")
    return frame, asked


def _hello(body: bytes) -> Hello:
    if len(body) > HELLO_BYTES:
        raise FrameTooLargeError(len(body), HELLO_BYTES)
    try:
        frame = read_frame(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FrameError(f"the first frame cannot be read ({error})") from None
    asked = [request for said in frame.parts for request in said.requests]
    if len(asked) != 1 or not isinstance(asked[0], Hello):
        raise FrameError("the first request is no hello")
    return asked[0]


def _nothing(answer: Answer) -> bytes:  # noqa: ARG001  # nobody else answers it
    return UNUSED


def _seconds(wanted: float, most: float) -> float:
    """A time from elsewhere: within bounds, and a number."""
    return min(wanted, most) if wanted > 0 else 0.0


def _named(versions: tuple[int, ...]) -> str:
    return ", ".join(map(str, versions[:8])) or "none"
