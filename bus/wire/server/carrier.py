"""The hub's side of nng: one REP socket for all its addresses, and a context for each request.

A thread that receives a request answers it on the context that received it. A request that waits
keeps its context, and the thread that has the answer sends it. nng's callbacks about connections
("pipes") only enqueue, because nng holds a lock during a callback.
"""

import atexit
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
import pynng
from pynng import ffi, lib

from ...access import Peer
from ...clock import lasting
from ...errors import UrlError
from ..frames import FRAME_BYTES
from ..tls import ServerTls, server_config
from ..urls import Address

RECEIVERS = 2  # minimum of receiving threads; each answers one request at a time
MOST_RECEIVERS = 16  # maximum, when all are busy: they share one write to the disk
# After this a surplus receiver ends, and a connection that takes no answer is cut.
PATIENCE_MS = 10_000
REQUEST_ID_BYTES = 4  # nng counts them as part of the frame
JOIN_S = 5.0
UNUSED = b""  # an answer that is not sent

BRACKETS = str.maketrans("", "", "[]")  # nng writes them around an IPv6 address
STUCK = 2  # answers of one connection that nng has not begun to send; above this it is cut


class Context:
    """A place for one request and its answer, with nng's asynchronous handles."""

    __slots__ = ("_made", "aio", "number")

    def __init__(self, socket: Any) -> None:
        self._made = ffi.new("nng_ctx *"), ffi.new("nng_aio **")
        pynng.check_err(lib.nng_ctx_open(self._made[0], socket))
        pynng.check_err(lib.nng_aio_alloc(self._made[1], ffi.NULL, ffi.NULL))
        self.number, self.aio = self._made[0][0], self._made[1][0]
        lib.nng_aio_set_timeout(self.aio, PATIENCE_MS)


Take = Callable[[int, Context, bytes], bytes | None]
Came = Callable[["Pipe"], bool]

_OPEN: "set[Carrier]" = set()  # keeps open ones alive, so that the garbage collector closes none


class Pipe(msgspec.Struct, frozen=True):
    """A connection, as nng knows it before its first request."""

    number: int
    listener: int
    carrier: str  # "ipc", "tcp", "tls"
    address: str  # "10.0.0.7:51234"; empty on ipc


class Carrier:
    """Listens, receives requests, sends answers.

    Args:
        take: Answers a request of a pipe: bytes, `UNUSED` for no answer, or None if
            it keeps the context and calls `answer` later. Several threads call it concurrently.
        rest: Does what `take` left to do after the answer.
        came: Says whether to accept a new connection; it must return at once.
        went: Notes that a connection ended; it must return at once.
    """

    def __init__(
        self, take: Take, rest: Callable[[], None], came: Came, went: Callable[[int], None]
    ) -> None:
        self._take, self._rest, self._came = take, rest, came
        self._socket = pynng.Rep0(recv_max_size=FRAME_BYTES + REQUEST_ID_BYTES)
        self._socket.tcp_keepalive = True
        self._socket.add_pre_pipe_connect_cb(self._before)
        self._socket.add_post_pipe_remove_cb(lambda pipe: went(pipe.id))
        self._free: deque[Context] = deque()
        self._all: list[Context] = []
        self._tls: pynng.TLSConfig | None = None  # kept alive here, because nng does not
        self._carriers: dict[int, str] = {}  # by listener
        self._listeners: list[Any] = []
        self._closed = self._ended = False
        self._stuck: dict[int, list[Context]] = {}  # by pipe
        self._sticking = threading.Lock()
        self._receiving: dict[threading.Thread, Context] = {}
        self._idle: deque[None] = deque()  # one per waiting receiver; counted without a lock
        self._starting = threading.Lock()
        for _ in range(RECEIVERS):
            self._start()
        _OPEN.add(self)

    def listen(self, address: Address, tls: ServerTls | None, before: Callable[[int], None]) -> int:
        """Listen at *address* from now on; return the port, 0 if it has none.

        *before* gets nng's number of the listener, before a connection can arrive.

        Raises:
            UrlError: The address cannot be listened on.
        """
        made, url = ffi.new("nng_listener *"), address.url.encode()
        try:
            if tls is not None:  # nng passes it to the next listener
                self._tls = self._socket.tls_config = server_config(tls)
            pynng.check_err(lib.nng_listener_create(made, self._socket.socket, url))
            listener = made[0]
            if address.carrier == "ipc":
                pynng.check_err(lib.nng_listener_set_int(listener, b"ipc:permissions", 0o600))
            number = lib.nng_listener_id(listener)
            self._carriers[number] = address.carrier
            before(number)
            pynng.check_err(lib.nng_listener_start(listener, 0))
        except pynng.NNGException as error:
            raise UrlError(address.url, _problem(address, error)) from None
        self._listeners.append(made)
        return self._port(listener) if address.carrier != "ipc" else 0

    def answer(self, number: int, context: Context, data: bytes) -> None:
        """Answer the request of pipe *number* that waits on *context*."""
        if self._send(number, context, data):
            self._free.append(context)

    def give_back(self, context: Context) -> None:
        """Use *context* for another request: its answer is no longer wanted."""
        self._free.append(context)

    def cut(self, number: int) -> None:
        """End a connection, from any thread; a second call does nothing."""
        lib.nng_pipe_close(_pipe(number))

    def certificate(self, number: int) -> tuple[str, bool]:
        """The common name in the client's certificate, and whether TLS has verified it."""
        pipe, verified, name = _pipe(number), ffi.new("bool *"), ffi.new("char **")
        if lib.nng_pipe_get_bool(pipe, b"tls-verified", verified):
            return "", False
        if lib.nng_pipe_get_string(pipe, b"tls-peer-cn", name) or name[0] == ffi.NULL:
            return "", False
        try:
            return ffi.string(name[0]).decode("utf-8", "replace"), bool(verified[0])
        finally:
            lib.nng_strfree(name[0])

    def silence(self) -> None:
        """Accept no more connections and requests; answer the current ones first."""
        with self._starting:
            self._closed = True
        for listener in self._listeners:
            lib.nng_listener_close(listener[0])
        receiving = list(self._receiving.items())
        for _, context in receiving:
            lib.nng_aio_cancel(context.aio)
        for thread, _ in receiving:
            if thread is not threading.current_thread():
                thread.join(lasting(JOIN_S))

    def close(self) -> None:
        """End all connections, after `silence`; a second call does nothing."""
        _OPEN.discard(self)
        self._ended = True
        self._socket.close()
        if not self._receiving:
            for context in self._all:
                lib.nng_aio_free(context.aio)
        self._all = []

    def free_stuck(self) -> None:
        """Reuse contexts whose answers were sent, and cut connections that take no answers."""
        with self._sticking:
            for number, contexts in list(self._stuck.items()):
                done = [context for context in contexts if not lib.nng_aio_busy(context.aio)]
                left = [context for context in contexts if context not in done]
                if left:
                    self._stuck[number] = left
                else:
                    del self._stuck[number]
                failed = [context for context in done if self._failed(context)]  # each is asked
                if failed or len(left) > STUCK:
                    self.cut(number)
                self._free.extend(done)

    def _failed(self, context: Context) -> bool:
        """Whether an answer was not sent; then this module still owns it."""
        failed: bool = lib.nng_aio_result(context.aio) != 0
        if failed:
            lib.nng_msg_free(lib.nng_aio_get_msg(context.aio))
        return failed

    def _start(self) -> None:
        with self._starting:
            if self._closed or len(self._receiving) >= MOST_RECEIVERS:
                return
            thread = threading.Thread(target=self._receive, name="cortex-receive", daemon=True)
            self._receiving[thread] = self._context()
            thread.start()

    def _receive(self) -> None:
        thread = threading.current_thread()
        context = self._receiving[thread]
        while not self._closed:
            message = self._message(context)
            if message is None:
                if len(self._idle) >= RECEIVERS:
                    break
                continue
            if not self._idle:
                self._start()
            number = lib.nng_msg_get_pipe(message).id
            body = ffi.buffer(lib.nng_msg_body(message), lib.nng_msg_len(message))[:]
            lib.nng_msg_free(message)
            data = self._take(number, context, body)
            if data is None or (data and not self._send(number, context, data)):
                context = self._receiving[thread] = self._context()
            self._rest()
        del self._receiving[thread]
        self._free.append(context)

    def _message(self, context: Context) -> Any:
        """The next request; None if none came for a while, or if the carrier closes."""
        self._idle.append(None)
        lib.nng_ctx_recv(context.number, context.aio)
        if self._closed:  # `silence` may have been called before there was a receive to cancel
            lib.nng_aio_cancel(context.aio)
        lib.nng_aio_wait(context.aio)
        self._idle.pop()
        if lib.nng_aio_result(context.aio):
            return None
        return lib.nng_aio_get_msg(context.aio)

    def _send(self, number: int, context: Context, data: bytes) -> bool:
        """Send the answer without blocking; return whether *context* is free again."""
        made = ffi.new("nng_msg **")
        if self._ended or lib.nng_msg_alloc(made, 0):
            return True
        message, aio = made[0], context.aio
        lib.nng_msg_append(message, data, len(data))
        lib.nng_aio_set_msg(aio, message)
        lib.nng_ctx_send(context.number, aio)
        if lib.nng_aio_busy(aio):
            with self._sticking:
                self._stuck.setdefault(number, []).append(context)
            return False
        self._failed(context)
        return True

    def _context(self) -> Context:
        if self._stuck:
            self.free_stuck()
        with contextlib.suppress(IndexError):
            return self._free.popleft()
        made = Context(self._socket.socket)
        self._all.append(made)
        return made

    def _before(self, pipe: Any) -> None:
        listener = lib.nng_listener_id(lib.nng_pipe_listener(pipe.pipe))
        carrier = self._carriers.get(listener, "tcp")
        try:
            address = "" if carrier == "ipc" else str(pipe.remote_address).translate(BRACKETS)
        except pynng.NNGException:  # it has ended already
            pipe.close()
            return
        if self._closed or not self._came(Pipe(pipe.id, listener, carrier, address)):
            pipe.close()

    def _port(self, listener: Any) -> int:
        found = ffi.new("int *")
        pynng.check_err(lib.nng_listener_get_int(listener, b"tcp-bound-port", found))
        return int(found[0])


def _problem(address: Address, error: pynng.NNGException) -> str:
    if not isinstance(error, pynng.AddressInUse):
        return f"cannot be listened on: {str(error).lower()}"
    if address.carrier == "ipc":
        return "another hub listens there: stop it, or take another address"
    return "cannot be listened on: address already in use"


def _pipe(number: int) -> Any:
    made = ffi.new("nng_pipe *")
    made[0].id = number
    return made[0]


def peer_of(pipe: Pipe, name: str, verified: bool) -> Peer:
    """The other end of a connection, as far as the carrier knows it."""
    problem = "" if verified or not name else NOT_TAKEN
    return Peer(pipe.carrier, pipe.address, name if verified else "", problem)


NOT_TAKEN = "it has expired, is not valid yet, or is not one that this hub signed"


@atexit.register
def _silence_all() -> None:
    # Otherwise threads that wait inside nng would return to an interpreter that is gone.
    for carrier in list(_OPEN):
        carrier.silence()
        carrier.close()
