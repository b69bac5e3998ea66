"""A client's connection to a hub: dialled, let in, and then one frame and its answer at a time."""

import contextlib
import itertools
import secrets
import socket
import ssl
from collections.abc import Sequence

import msgspec

from ..clock import lasting, steady_s
from ..epochs import Epochs
from ..errors import CortexError, FrameError, FrameTooLargeError, HubUnverifiedError
from ..requests import Answer, Refused
from .frames import (
    FRAME_BYTES,
    VERSIONS,
    Failed,
    Frame,
    Hello,
    Welcome,
    one,
    read_answers,
)
from .pipe import Gone, Pipe, PlainPipe, TlsPipe
from .stream import FIRST_ID, REP, REQ, SHORT_S, Stream
from .tls import ClientTls, check_hub, client_context
from .urls import Address

DIAL_S = 10.0  # for the connection and the handshakes
PATIENCE_S = 60.0  # for an answer that does not wait; a hub on a slow disk takes its time
ANSWER_BYTES = 128 << 20  # the most that a hub is believed to answer
SOFTWARE = "cortex"


class Way(msgspec.Struct, frozen=True):
    """How to get to a hub, and who comes."""

    address: Address
    token: str = ""
    name: str = ""
    instance: str = ""
    tls: ClientTls = ClientTls()
    epochs: Epochs = ()  # of the log, as the hub told of them last
    seen: int = 0  # the newest position that is known from then

    def __repr__(self) -> str:
        return f"Way({self.address.url})"  # never the token


class Channel:
    """One lock-step connection; who uses it has it for himself."""

    def __init__(self, way: Way) -> None:
        """Dial, and be let in.

        Raises:
            Gone: Nobody listens, or it went in the middle.
            TailLostError: The log has lost some of what was seen.
            CortexError: The hub does not let this client in; trying again changes nothing.
        """
        self.url = way.address.url
        self.unanswered = False  # a whole frame went out, and its answer has not come
        self._numbers = itertools.count(secrets.randbits(24))
        self._deadline_s = steady_s() + DIAL_S
        sock = _dialled(way.address)
        try:
            pipe = _secured(sock, way)
            self._stream = Stream(
                pipe, marked=way.address.carrier == "ipc", limit_bytes=ANSWER_BYTES
            )
            pipe.wait_at_most(SHORT_S)
            self._stream.greet(REQ, REP, self._over)
            known = way.epochs, way.seen
            hello = Hello(VERSIONS, way.token, way.name, way.instance, SOFTWARE, *known)
            answer = self.exchange(one(hello), DIAL_S)[0]
            if not isinstance(answer, Welcome):
                raise _refused(answer)
            self.welcome = answer
        except BaseException:
            sock.close()
            raise

    def exchange(self, frame: Frame, wait_s: float = 0.0) -> Sequence[Answer]:
        """The answers to *frame*; it may wait *wait_s* longer than others for them.

        Raises:
            Gone: The connection ended before they came.
            CortexError: The hub refused the frame as a whole and closed the connection.
        """
        number = FIRST_ID | next(self._numbers) & 0x7FFF_FFFF
        self._deadline_s = steady_s() + PATIENCE_S + wait_s
        self._stream.send(number, frame)
        self.unanswered = True
        there, body = self._stream.receive(self._over)
        if there != number:
            raise Gone(f"the answer has number {there:#x}, not {number:#x}")
        try:
            answers: Sequence[Answer] = read_answers(body)
        except msgspec.MsgspecError as error:
            raise Gone(f"an answer cannot be read ({error})") from None
        self.unanswered = False
        asked = sum(len(said.requests) for said in frame.parts)
        if len(answers) != asked:
            raise _refused(answers[0] if answers else Failed("no answer"))
        return answers

    def cut(self) -> None:
        """End it from another thread."""
        self._stream.pipe.cut()

    def close(self) -> None:
        """Let go of it."""
        self._stream.pipe.close()

    def _over(self) -> bool:
        return steady_s() > self._deadline_s


def size_of(frame: Frame) -> int:
    """How many bytes *frame* is.

    Raises:
        FrameTooLargeError: It is over what hubs take.
    """
    size = len(msgspec.msgpack.encode(frame))
    if size > FRAME_BYTES:
        raise FrameTooLargeError(size, FRAME_BYTES)
    return size


def _refused(answer: Answer) -> CortexError:
    if isinstance(answer, Refused):
        return answer.error()
    return FrameError(f"the hub answered {type(answer).__name__}")


def _dialled(address: Address) -> socket.socket:
    sock = None
    try:
        if address.carrier == "ipc":
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(lasting(DIAL_S))
            sock.connect(address.path)
            return sock
        return socket.create_connection((address.host, address.port), lasting(DIAL_S))
    except OSError as error:
        if sock is not None:
            sock.close()
        raise Gone((error.strerror or str(error) or type(error).__name__).lower()) from None


def _secured(sock: socket.socket, way: Way) -> Pipe:
    if way.address.carrier != "tls":
        return PlainPipe(sock)
    url = way.address.url
    pipe = TlsPipe(sock, client_context(url, way.tls), way.address.host)
    try:
        pipe.shake(DIAL_S)
    except ssl.SSLCertVerificationError as error:
        raise HubUnverifiedError(url, error.verify_message) from None
    except ssl.SSLError as error:
        with contextlib.suppress(Gone):
            pipe.cut()
        raise Gone(f"no TLS: {(error.reason or str(error)).lower().replace('_', ' ')}") from None
    check_hub(pipe, url, way.tls)
    return pipe
