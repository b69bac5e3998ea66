"""One connection at a hub: a hello, then one frame and its answer at a time.

The thread that receives a frame answers it. A request that waits (`Listen`, `Ask`, `Await`, a
`Fetch` with a time) is *owed*: it keeps the frame's context but no thread, and the thread that has
the answer sends it. The connection stays in lock-step: a second frame before the answer ends it.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from ...access import Peer
from ...epochs import TOLD
from ...errors import (
    ClientDeniedError,
    CortexError,
    FrameError,
    FrameTooLargeError,
    HubClosedError,
    VersionError,
    WireError,
)
from ...requests import Answer, Fetch, Refused
from ..frames import (
    FRAME_BYTES,
    HELLO_BYTES,
    PAGE_BYTES,
    VERSIONS,
    WAIT_S,
    WAITS,
    Frame,
    Gone,
    Hello,
    Welcome,
    read_frame,
)
from .carrier import UNUSED, Carrier, Context, Pipe, peer_of
from .connected_client import ConnectedClient
from .dispatcher import Asked as Asking
from .dispatcher import Dispatcher
from .failures import Failures
from .pending import Answered, Owed, Pending
from .rights import Rights
from .waiting import SHORT_NS, Hands, Waiting

FRAME_REQUESTS = 1_024  # per frame, and so a bound on the stored answers
LINGER_NS = 500_000_000  # after a refusal that ends a connection, for the client to read it
EARLY = "a request came before the answer to the one before"

encode = msgspec.msgpack.Encoder().encode


class ServerPort(Hands, Protocol):
    """The services of the server that a connection uses."""

    dispatcher: Dispatcher
    failures: Failures
    carrier: Carrier

    def admitted(self, connection: "Connection", hello: Hello, peer: Peer) -> ConnectedClient:
        """The admitted client program.

        Raises:
            ClientDeniedError: The client is not admitted.
        """
        ...


class Connection:
    """One client's connection; any thread handles its frames, one at a time."""

    def __init__(self, server: ServerPort, pipe: Pipe) -> None:
        self._server, self._dispatcher, self.pipe = server, server.dispatcher, pipe
        self.networked = pipe.carrier != "ipc"  # not from this machine's own user
        self.pushed = False  # closed to make room for another unauthenticated connection
        self.reason = ""  # why the hub closes it
        self.over_ns: int | None = None  # when to cut it, after a refusal
        self.program: ConnectedClient | None = None
        self.rights: Rights | None = None
        self._steady_ns = server.dispatcher.hub.steady_ns
        self._checked_ns = self._steady_ns()
        self._turn = threading.Lock()  # held from a frame to its answer
        self._pending = Pending(self._sends, server.soon)
        self._waiting = Waiting(self._dispatcher, self._pending, server)

    def take(self, context: Context, body: bytes) -> bytes | None:
        """Answer the frame *body*; None if the answer is owed. Never raises."""
        if not self._turn.acquire(blocking=False):
            self._end(FrameError(EARLY))
            return UNUSED
        return self._guarded(lambda: self._answered(context, body))

    def go_on(self, context: Context, body: bytes) -> None:
        """Answer a frame that was delayed before it was read."""
        self._sent(context, self.take(context, body))

    def cut(self, reason: str = "") -> None:
        """End the connection, from any thread."""
        self.reason = self.reason or reason
        self._server.carrier.cut(self.pipe.number)

    def look_at_the_time(self, now_ns: int) -> int | None:
        """Do what is due by now; return when there is something to do next."""
        if self.over_ns is not None:
            if now_ns >= self.over_ns:
                self.cut()
            return self.over_ns
        owed = self._pending.owed
        if owed is None:
            return None
        if now_ns >= owed.until_ns:
            self._server.elsewhere(lambda: self._pending.overdue(owed))
            return None
        self._check_owed()
        return min(owed.until_ns, now_ns + SHORT_NS)

    @property
    def waits(self) -> bool:
        """Whether the hub owes it an answer."""
        return self._pending.owed is not None

    def leave(self) -> None:
        """The connection has ended: cancel what it waits for."""
        context = self._pending.leave()
        if context is not None:
            self._server.carrier.give_back(context)
        self._waiting.leave()

    def _guarded(self, answered: Answered) -> bytes | None:
        """The answers to a frame; the turn ends with them, unless the connection does."""
        try:
            data = answered()
        except (Gone, HubClosedError) as gone:  # the hub may be back soon: no refusal
            self.cut(str(gone))
            return UNUSED
        except CortexError as error:
            return self._refusal(error)
        except Exception as error:  # noqa: BLE001  # one connection must not end the others
            client = self.program.client if self.program else ""
            return self._refusal(self._server.failures.note(client, error))
        if data is not None:
            self._turn.release()
        return data

    def _sent(self, context: Context, data: bytes | None) -> None:
        if data:
            self._server.carrier.answer(self.pipe.number, context, data)
        elif data is not None:
            self._server.carrier.give_back(context)

    def _answered(self, context: Context, body: bytes) -> bytes | None:
        program, rights = self.program, self.rights
        if program is None or rights is None:
            return encode([self._let_in(_hello(body))])
        self._check_standing(program)
        frame, asked = _asked(body)
        usage = program.usage
        if usage is None:
            return self._answer(context, program, rights, frame, asked, encode)

        def send(answers: list[Answer]) -> bytes:
            data = encode(answers)
            usage.count(asked, len(body) + len(data))
            return data

        def late() -> bytes | None:
            if over is None:
                return self._answer(context, program, rights, frame, asked, send)
            self._dispatcher.access.limited(over.client, over.what, over.limit)
            return encode([Refused.of(over)] * len(asked))

        wait_ns, over = usage.hold_back()
        if wait_ns <= 0:
            return late()
        until_ns = self._steady_ns() + wait_ns
        self._waiting.owe(Owed(context, until_ns, lambda _: UNUSED, late))
        return None

    def _let_in(self, hello: Hello) -> Welcome:
        common = set(hello.versions) & set(VERSIONS)
        if not common:
            raise VersionError(_named(hello.versions), _named(VERSIONS))
        peer = peer_of(self.pipe, *self._server.carrier.certificate(self.pipe.number))
        program = self._server.admitted(self, hello, peer)
        self.rights = Rights(self._dispatcher.access, self._dispatcher.hub, program.client)
        hub = self._dispatcher.hub
        hub.meet(program.client, hello.epochs, hello.seen)
        bounds = FRAME_BYTES, PAGE_BYTES, WAIT_S
        return Welcome(program.client, max(common), *bounds, hub.head, hub.epochs[-TOLD:])

    def _answer(
        self,
        context: Context,
        program: ConnectedClient,
        rights: Rights,
        frame: Frame,
        asked: Sequence[Asking],
        send: Callable[[list[Answer]], bytes],
    ) -> bytes | None:
        last = asked[-1][1]
        if not (isinstance(last, WAITS) or (isinstance(last, Fetch) and last.wait_s > 0)):
            return send(self._dispatcher.answers(program, rights, frame, asked))
        before = (
            self._dispatcher.answers(program, rights, frame, asked[:-1]) if len(asked) > 1 else []
        )
        problem = rights.problem("", last)
        if problem is not None:
            return send([*before, Refused.of(problem)])

        return self._waiting.answer(context, program, rights, last, lambda it: send([*before, it]))

    def _sends(self, context: Context, answered: Answered) -> bool:
        data = self._guarded(answered)
        self._sent(context, data)
        return bool(data)

    def _check_owed(self) -> None:
        """End a wait of a client whose grant has run out, or of a closed hub."""
        if self._dispatcher.hub.closed:
            self.cut("the hub was closed")
        elif self.program is not None:
            try:
                self._check_standing(self.program)
            except ClientDeniedError as error:
                self._pending.fail(error)

    def _check_standing(self, program: ConnectedClient) -> None:
        """Refuse a client whose grant has run out; asked once a second."""
        now_ns = self._steady_ns()
        if now_ns - self._checked_ns > SHORT_NS:
            self._checked_ns = now_ns
            if not self._dispatcher.access.standing(program.client):
                raise ClientDeniedError(program.client, "its grant was revoked, or has expired")

    def _refusal(self, error: CortexError) -> bytes:
        """The refusal that ends the connection; it is recorded, and no more frames are accepted."""
        self._note(error)
        # When a connection ends, nng drops an answer that it has not sent yet: let the client end
        # it, or send another frame, which ends it as well.
        self.over_ns = self._steady_ns() + LINGER_NS
        self._server.due(self.over_ns)
        return encode([Refused.of(error)])

    def _end(self, error: CortexError) -> None:
        """End the connection at once, without an answer."""
        self._note(error)
        self.cut()

    def _note(self, error: CortexError) -> None:
        self.reason = self.reason or str(error)
        if isinstance(error, WireError):
            client = self.program.client if self.program else ""
            with contextlib.suppress(CortexError):  # it ends even if that cannot be recorded
                self._dispatcher.access.deny(client, "send", type(error).__name__)


def _asked(body: bytes) -> tuple[Frame, list[Asking]]:
    try:
        frame = read_frame(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FrameError(f"a frame cannot be read ({error})") from None
    asked: list[Asking] = [(said.source, r) for said in frame.parts for r in said.requests]
    if not asked:
        raise FrameError("a frame has no requests")
    if len(asked) > FRAME_REQUESTS:
        raise FrameError(f"a frame has {len(asked)} requests: {FRAME_REQUESTS} at most")
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
        raise FrameError("the first request is not a hello")
    return asked[0]


def _named(versions: tuple[int, ...]) -> str:
    return ", ".join(map(str, versions[:8])) or "none"
