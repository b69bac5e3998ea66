"""A client's connection to a hub: connect, hello, then one frame and its answer at a time."""

import atexit
import contextlib
import select
import threading
from collections.abc import Sequence

import msgspec
import pynng

from ...clock import lasting, steady_s
from ...epochs import Epochs
from ...errors import CortexError, FrameError, FrameTooLargeError
from ...requests import Answer, Refused
from ..frames import (
    FRAME_BYTES,
    VERSIONS,
    Failed,
    Frame,
    Gone,
    Hello,
    Welcome,
    one,
    read_answers,
)
from ..tls import ClientTls, client_config
from ..urls import Address

DIAL_S = 10.0  # for the connection and the handshakes
PATIENCE_S = 60.0  # for an answer to a request that does not wait; a hub may have a slow disk
ANSWER_BYTES = 128 << 20  # the largest answer that a client accepts
SEND_MS = 100  # a send without a connection checks this often whether the connection has ended
SLICE_MS = 50  # the main thread, waiting for an answer, wakes this often for Ctrl-C
NEVER_MS = 3_600_000  # a socket is one connection: nng must not dial again
SOFTWARE = "cortex"
CUT = pynng.ConnectionReset | pynng.ConnectionAborted | pynng.Closed  # the hub ended the connection

encode = msgspec.msgpack.Encoder().encode

# Keeps open ones alive. The garbage collector would close one wherever it happens to run, and
# a close inside a callback of nng waits for ever.
_OPEN: "set[Channel]" = set()


class Way(msgspec.Struct, frozen=True):
    """How to reach a hub, and the identity of the client."""

    address: Address
    token: str = ""
    name: str = ""
    instance: str = ""
    tls: ClientTls = ClientTls()
    epochs: Epochs = ()  # of the log, as the hub last reported them
    seen: int = 0  # the newest position seen in them

    def __repr__(self) -> str:
        return f"Way({self.address.url})"  # never the token


class Channel:
    """One lock-step connection, an nng socket; only one thread may use it at a time."""

    def __init__(self, way: Way) -> None:
        """Dial the hub, and send the hello.

        Raises:
            Gone: No hub listens, or the connection ended before the answer.
            TailLostError: The log has lost events that this client saw.
            CortexError: The hub does not admit this client; trying again changes nothing.
        """
        self.url = way.address.url
        self.unanswered = False  # a whole frame was sent, and its answer is missing
        self._gone = False  # nng's connection has ended, and is not dialled again
        self._pipe: pynng.Pipe | None = None
        self._wait_ms = 0
        self._socket = pynng.Req0(
            resend_time=-1,  # nng does not know the frames' numbers, which make repeats safe
            send_timeout=SEND_MS,
            recv_max_size=ANSWER_BYTES,
            reconnect_time_min=NEVER_MS,
        )
        self._socket.tcp_keepalive = True
        self._socket.add_pre_pipe_connect_cb(self._come)
        self._socket.add_post_pipe_remove_cb(lambda _: self._end())
        _OPEN.add(self)
        try:
            self._dial(way)
            known = way.epochs, way.seen
            hello = Hello(VERSIONS, way.token, way.name, way.instance, SOFTWARE, *known)
            answer = self._greet(hello)
            if not isinstance(answer, Welcome):
                raise _refused(answer)
            self.welcome = answer
        except BaseException:
            self.close()
            raise

    def exchange(self, frame: Frame, wait_s: float = 0.0) -> Sequence[Answer]:
        """The answers to *frame*; waits for them up to *wait_s* longer than usual.

        Raises:
            Gone: The connection ended before the answers came.
            FrameTooLargeError: The frame is larger than hubs accept; nothing was sent.
            CortexError: The hub refused the frame as a whole and closed the connection.
        """
        data = encode(frame)
        if len(data) > FRAME_BYTES:
            raise FrameTooLargeError(len(data), FRAME_BYTES)
        over_s = steady_s() + PATIENCE_S + wait_s
        try:
            self._send(data, over_s)
            self.unanswered = True
            body = self._receive(over_s)
        except pynng.NNGException as error:
            raise Gone(str(error).lower()) from None
        try:
            answers: Sequence[Answer] = read_answers(body)
        except msgspec.MsgspecError as error:
            raise Gone(f"an answer cannot be read ({error})") from None
        self.unanswered = False
        asked = sum(len(said.requests) for said in frame.parts)
        if len(answers) != asked:
            raise _refused(answers[0] if answers else Failed("no answer"))
        return answers

    def _greet(self, hello: Hello) -> Answer:
        try:
            return self.exchange(one(hello), DIAL_S - PATIENCE_S)[0]
        except Gone as gone:
            raise Gone(str(gone), cut=True) from None

    def cut(self) -> None:
        """End the connection, from another thread."""
        self._gone = True
        pipe = self._pipe
        if pipe is not None:
            with contextlib.suppress(pynng.NNGException):  # it has ended
                pipe.close()

    def close(self) -> None:
        """Close the connection."""
        _OPEN.discard(self)
        self._gone = True
        self._socket.close()

    def _dial(self, way: Way) -> None:
        """Connect in another thread, so that Ctrl-C works: inside nng it does nothing."""
        if way.address.carrier == "tls":
            self._socket.tls_config = client_config(way.address, way.tls, DIAL_S)
        failed: list[pynng.NNGException] = []

        def dial() -> None:
            try:
                self._socket.dial(self.url, block=True)
            except pynng.NNGException as error:
                failed.append(error)

        dialling = threading.Thread(target=dial, name="cortex-dial", daemon=True)
        dialling.start()
        dialling.join(lasting(DIAL_S))
        if dialling.is_alive():
            raise Gone("it did not answer in time")
        if failed:
            raise Gone(str(failed[0]).lower(), cut=_is_cut(failed[0]))

    def _send(self, data: bytes, over_s: float) -> None:
        while True:
            if self._gone:
                raise Gone("the connection was closed")
            try:
                self._socket.send(data)
            except pynng.Timeout:
                if steady_s() > over_s:
                    raise
            else:
                return

    def _receive(self, over_s: float) -> bytes:
        if threading.current_thread() is threading.main_thread():
            self._wait_for_signals_too(over_s)
        wait_ms = max(1, int(lasting(over_s - steady_s()) * 1e3))
        if abs(wait_ms - self._wait_ms) > wait_ms // 16:
            self._socket.recv_timeout = self._wait_ms = wait_ms
        return self._socket.recv()

    def _wait_for_signals_too(self, over_s: float) -> None:
        """Wait outside nng, which would not return on Ctrl-C."""
        poll = select.poll()
        poll.register(self._socket.recv_fd, select.POLLIN)
        while not poll.poll(SLICE_MS):
            if self._gone:
                raise Gone("the connection was closed")
            if steady_s() > over_s:
                raise Gone("it did not answer in time")

    def _come(self, pipe: pynng.Pipe) -> None:
        self._pipe = pipe

    def _end(self) -> None:
        self._gone = True


def _is_cut(error: pynng.NNGException) -> bool:
    # A connection that was shut down has no class of its own.
    return isinstance(error, CUT) or error.errno == pynng.lib.NNG_ECONNSHUT


def _refused(answer: Answer) -> CortexError:
    if isinstance(answer, Refused):
        return answer.error()
    return FrameError(f"the hub answered {type(answer).__name__}")


@atexit.register
def _cut_all() -> None:
    # Otherwise threads that wait inside nng would return to an interpreter that is gone.
    for channel in list(_OPEN):
        channel.cut()
