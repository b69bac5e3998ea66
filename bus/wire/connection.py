"""One connection at a hub: a thread that reads a frame, answers it, and reads the next.

An answer that another client has to give (`Listen`, `Ask`) is *owed*: the thread reads on, so that
it sees the other end go, and whoever has the answer writes it. Lock-step holds all the same: a
frame that comes while an answer is owed closes the connection.
"""

import contextlib
import socket
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
    HubClosedError,
    HubFailedError,
    VersionError,
    WireError,
)
from ..requests import Answer, Fetch, Page, Refused, Request
from .bell import Bell
from .desk import Asked as Asking
from .desk import Desk
from .failures import Failures
from .frames import (
    FRAME_BYTES,
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
from .link import Link
from .pipe import Gone
from .questions import Give
from .rights import Rights
from .stream import REP, REQ, SHORT_S, Stream

FRAME_REQUESTS = 1_024  # of one frame, and so of the answers that are kept for it
ASK_S = 3_600.0  # nobody waits longer for an answer
LINGER_S = 0.5
EARLY = "a request came before the answer to the one before"


class Door(Protocol):
    """What a connection needs of the server that accepted it."""

    desk: Desk
    failures: Failures

    def admitted(self, connection: "Connection", hello: Hello, peer: Peer) -> Link:
        """The link of a client that is let in.

        Raises:
            ClientDeniedError: It is not.
        """
        ...

    def left(self, connection: "Connection", reason: str) -> None:
        """The connection ended."""
        ...


class _Owed(msgspec.Struct, eq=False):
    number: int
    before: list[Answer]  # of the same frame
    until_ns: int
    late: Callable[[], Answer]  # what is answered once that is over


class Connection:
    """Serves one client's connection in the calling thread."""

    def __init__(
        self,
        door: Door,
        connect: Callable[[], tuple[Stream, Peer]],
        sock: socket.socket,
        *,
        networked: bool = False,
    ) -> None:
        self._door, self._desk = door, door.desk
        self.pushed = False  # cut for another stranger
        self.networked = networked  # not from this machine's own user, as ipc is
        self._connect = connect  # the handshake of the carrier, which may take its time
        self._sock = sock  # which that is about
        self._steady_ns = door.desk.hub.steady_ns
        self._checked_ns = self._steady_ns()
        self._owing = threading.Lock()
        self._owed: _Owed | None = None
        self._bell: Bell | None = None
        self._watching = ""  # the subscription that rings the bell
        self.stream: Stream | None = None
        self.rights: Rights | None = None
        self.link: Link | None = None

    def run(self) -> None:
        """Serve until either end has enough; lets nothing escape."""
        reason = ""
        try:
            self._serve()
        except Gone as gone:
            reason = str(gone)
        except HubClosedError:
            reason = "the hub was closed"
        except CortexError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001  # one connection must not end the others
            reason = str(self._fail(error))
        finally:
            self._end(reason)

    def cut(self) -> None:
        """End it from another thread."""
        stream = self.stream
        if stream is not None:
            stream.pipe.cut()
            return
        with contextlib.suppress(OSError):  # it is closed already
            self._sock.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        stream, peer = self._connect()
        self.stream = stream
        try:
            stream.pipe.wait_at_most(SHORT_S)
            stream.greet(REP, REQ, self._look)
            number, body = stream.receive(self._look)
            self._let_in(stream, number, _hello(body), peer)
            stream.limit_bytes = FRAME_BYTES
            while True:
                number, body = self._receive(stream)
                self._answer(stream, number, body)
        except (Gone, HubClosedError):  # who is closed may be up again: the client is to come again
            raise
        except CortexError as error:
            self._refuse(stream, error)
            raise
        except Exception as error:
            failed = self._fail(error)
            self._refuse(stream, failed)
            raise failed from error

    def _fail(self, error: Exception) -> HubFailedError:
        """Record a defect."""
        return self._door.failures.note(self.link.client if self.link else "", error)

    def _let_in(self, stream: Stream, number: int, hello: Hello, peer: Peer) -> None:
        common = set(hello.versions) & set(VERSIONS)
        if not common:
            raise VersionError(_named(hello.versions), _named(VERSIONS))
        self.link = link = self._door.admitted(self, hello, peer)
        self.rights = Rights(self._desk.access, self._desk.hub, link.client)
        hub = self._desk.hub
        hub.meet(link.client, hello.epochs, hello.seen)
        bounds = FRAME_BYTES, PAGE_BYTES, WAIT_S
        welcome = Welcome(link.client, max(common), *bounds, hub.head, hub.epochs[-TOLD:])
        stream.send(number, [welcome])

    def _receive(self, stream: Stream) -> tuple[int, memoryview]:
        owed, wait_s = self._owed, SHORT_S
        if owed is not None:
            wait_s = min(wait_s, max(0.005, (owed.until_ns - self._steady_ns()) / 1e9))
        stream.pipe.wait_at_most(wait_s)
        number, body = stream.receive(self._look)
        if self._owed is not None:
            raise FrameError(EARLY)
        return number, body

    def _answer(self, stream: Stream, number: int, body: memoryview) -> None:
        link, rights = self.link, self.rights
        if link is None or rights is None:
            raise FrameError("the first request is no hello")
        self._check_standing(link)
        try:
            frame = read_frame(body)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise FrameError(f"a frame cannot be read ({error})") from None
        asked = [(said.source, request) for said in frame.parts for request in said.requests]
        if not asked:
            raise FrameError("a frame asks nothing")
        if len(asked) > FRAME_REQUESTS:
            raise FrameError(f"a frame asks {len(asked)} things: {FRAME_REQUESTS} at most")
        if stream.more():
            raise FrameError(EARLY)
        usage = link.usage
        if usage is None:
            self._answer_all(stream, link, rights, number, frame, asked)
            return
        over = usage.hold_back()
        if over is not None:
            self._desk.access.limited(over.client, over.what, over.limit)
            stream.send(number, [Refused.of(over)] * len(asked))
            return
        size_bytes, sent_bytes = len(body), stream.sent_bytes
        self._answer_all(stream, link, rights, number, frame, asked)
        usage.count(asked, size_bytes + stream.sent_bytes - sent_bytes)

    def _answer_all(
        self,
        stream: Stream,
        link: Link,
        rights: Rights,
        number: int,
        frame: Frame,
        asked: Sequence[Asking],
    ) -> None:
        last = asked[-1][1]
        if not (isinstance(last, WAITS) or (isinstance(last, Fetch) and last.wait_s > 0)):
            stream.send(number, self._desk.answers(link, rights, frame, asked))
            return
        before = self._desk.answers(link, rights, frame, asked[:-1]) if len(asked) > 1 else []
        problem = rights.problem("", last)
        if problem is not None:
            stream.send(number, [*before, Refused.of(problem)])
        else:
            self._wait(stream, link, rights, number, before, last)

    def _wait(
        self,
        stream: Stream,
        link: Link,
        rights: Rights,
        number: int,
        before: list[Answer],
        last: Request,
    ) -> None:
        match last:
            case Fetch():
                stream.send(number, [*before, self._fetch(stream, link, rights, last)])
            case Await():
                stream.send(number, [*before, self._await(stream, link, last)])
            case Listen():
                self._listen(link, number, before, last)
            case Ask():
                self._ask(number, before, last)
            case _:
                raise FrameError(f"{type(last).__name__} does not wait")

    def _fetch(self, stream: Stream, link: Link, rights: Rights, request: Fetch) -> Answer:
        """The next page; an empty one once the time is over."""
        until_ns = self._steady_ns() + int(_seconds(request.wait_s, WAIT_S) * 1e9)
        bell = self._ringing_for(request.subscription)
        while True:
            bell.hush()
            try:
                page = self._desk.page(rights, request)
            except CortexError as error:
                return Refused.of(error)
            left_s = (until_ns - self._steady_ns()) / 1e9
            if _has_something(page) or left_s <= 0:
                return page
            request = msgspec.structs.replace(
                request, after=page.through, ring_after=page.ring_through
            )
            if page.through >= self._desk.hub.head:
                stream.pipe.pause(bell.descriptor, min(left_s, SHORT_S))
            self._check_standing(link)
            self._refuse_closed()

    def _await(self, stream: Stream, link: Link, request: Await) -> Answer:
        until_ns = self._steady_ns() + int(_seconds(request.wait_s, WAIT_S) * 1e9)
        bell = self._ringing()
        while True:
            bell.hush()
            woken = link.woken(bell.ring)
            left_s = (until_ns - self._steady_ns()) / 1e9
            if woken or left_s <= 0:
                return Woken(woken)
            stream.pipe.pause(bell.descriptor, min(left_s, SHORT_S))
            self._check_standing(link)
            self._refuse_closed()

    def _listen(self, link: Link, number: int, before: list[Answer], request: Listen) -> None:
        questions = self._desk.questions

        def late() -> Answer:
            questions.no_more(link.answerer, give)
            return Asked(0)

        give = self._owe(number, before, _seconds(request.wait_s, WAIT_S), late)
        question = questions.listen(link.answerer, give)
        if question is not None:
            give(question)

    def _ask(self, number: int, before: list[Answer], request: Ask) -> None:
        questions, asked = self._desk.questions, 0

        def late() -> Answer:
            questions.forget(asked)
            return Refused.of(AskTimeoutError(request.topic, request.timeout_s))

        timeout_s = _seconds(request.timeout_s, ASK_S)
        give = self._owe(number, before, timeout_s, late)
        try:
            found = questions.ask(request.topic, request.body, timeout_s, give)
        except CortexError as error:
            give(Refused.of(error))
            return
        if found is None:
            give(questions.here(request.topic, request.body, timeout_s))
        else:
            asked = found

    def _owe(
        self, number: int, before: list[Answer], wait_s: float, late: Callable[[], Answer]
    ) -> Give:
        until_ns = self._steady_ns() + int(wait_s * 1e9)
        self._owed = owed = _Owed(number, before, until_ns, late)
        return lambda answer: self._give(owed, answer)

    def _give(self, owed: _Owed, answer: Answer) -> bool:
        """Send what is owed, from any thread; False where it is owed no more."""
        with self._owing:
            if self._owed is not owed or self.stream is None:
                return False
            self._owed = None
        try:
            self.stream.send(owed.number, [*owed.before, answer], soon=True)
        except Gone:
            return False
        return True

    def _owe_no_more(self) -> bool:
        """Whether an answer was owed; nobody waits for it, so that nobody is to work for it."""
        with self._owing:
            owed, self._owed = self._owed, None
        if owed is not None:
            owed.late()
        return owed is not None

    def _look(self) -> bool:
        """While nothing comes: whether to wait no more."""
        owed = self._owed
        if owed is not None and self._steady_ns() >= owed.until_ns:
            self._give(owed, owed.late())
            if self.stream is not None:
                self.stream.pipe.wait_at_most(SHORT_S)
        if self.link is not None:
            self._check_standing(self.link)
        self._refuse_closed()
        return False

    def _check_standing(self, link: Link) -> None:
        """End the connection of a client whose grant has run out; asked once a second."""
        now_ns = self._steady_ns()
        if now_ns - self._checked_ns > SHORT_S * 1e9:
            self._checked_ns = now_ns
            if not self._desk.access.standing(link.client):
                raise ClientDeniedError(link.client, "its grant was taken back, or has expired")

    def _refuse_closed(self) -> None:
        if self._desk.hub.closed:
            raise HubClosedError

    def _ringing(self) -> Bell:
        if self._bell is None:
            self._bell = Bell()
        return self._bell

    def _ringing_for(self, subscription: str) -> Bell:
        """The bell, which is rung from now on when *subscription* may have something new."""
        bell = self._ringing()
        if self._watching != subscription:
            self._unwatch(bell)
            self._desk.hub.watch(subscription, bell.ring)
            self._watching = subscription
        return bell

    def _unwatch(self, bell: Bell) -> None:
        if self._watching:
            self._desk.hub.unwatch(self._watching, bell.ring)
            self._watching = ""

    def _refuse(self, stream: Stream, error: CortexError) -> None:
        """Say why this is the end, where an answer can be given, and record it."""
        client = self.link.client if self.link else ""
        if isinstance(error, WireError):
            self._desk.access.deny(client, "send", type(error).__name__)
        if self._owe_no_more() or not stream.number:
            return
        with contextlib.suppress(Gone):
            stream.send(stream.number, [Refused.of(error)])
            # nng drops an answer that it has not passed on when the connection ends: let the client
            # end it, or say something more, which ends it as well.
            stream.pipe.wait_at_most(LINGER_S)
            stream.pipe.read_into(memoryview(bytearray(1)))

    def _end(self, reason: str) -> None:
        self._owe_no_more()
        self._door.left(self, reason)
        if self._bell is not None:
            self._unwatch(self._bell)
            self._bell.close()
        if self.stream is not None:
            self.stream.pipe.close()


def _hello(body: memoryview) -> Hello:
    try:
        frame = read_frame(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FrameError(f"the first frame cannot be read ({error})") from None
    asked = [request for said in frame.parts for request in said.requests]
    if len(asked) != 1 or not isinstance(asked[0], Hello):
        raise FrameError("the first request is no hello")
    return asked[0]


def _has_something(page: Page) -> bool:
    return bool(page.records or page.ephemeral) or page.dropped > 0


def _seconds(wanted: float, most: float) -> float:
    """A time from elsewhere: within bounds, and a number."""
    return min(wanted, most) if wanted > 0 else 0.0


def _named(versions: tuple[int, ...]) -> str:
    return ", ".join(map(str, versions[:8])) or "none"
