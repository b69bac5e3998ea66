"""The HTTP side: bounded in size, time and number, with one clear answer to everything."""

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from cortex.bus import Strangers

from ..errors import PluginRefusedError
from .reading import Refusal

AT_ONCE = 32  # posts that are being answered; one more is closed
STRANGERS = 64  # connections whose request is not there yet; the oldest makes room for one more
BACKLOG = 1_024  # of connections not accepted yet; one more has to knock again after a second
DISCARDED_BYTES = 64 << 20  # of a body that is not taken
LOOK_S = 0.25  # how often connections are looked at for one that takes too long
SERVER = "cortex-webhook"

Take = Callable[[str, Mapping[str, str], bytes, str], dict[str, Any]]  # path, headers, body, from
Denied = Callable[[str, str], None]  # reason, from


class WebhookServer(ThreadingHTTPServer):
    """Serves posts until it is closed.

    Args:
        address: Host and port; port 0 for any.
        take: Makes a trigger of a post and says what to answer; raises Refusal.
        denied: Is told what was refused before it got that far.
        body_bytes: Most that a body may have.
        patience_s: In which a whole request has to be there.

    Raises:
        PluginRefusedError: The address cannot be listened on.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = BACKLOG

    def __init__(
        self,
        address: tuple[str, int],
        take: Take,
        denied: Denied,
        *,
        body_bytes: int,
        patience_s: float,
    ) -> None:
        self.take, self.denied = take, denied
        self.body_bytes = body_bytes
        # Of one address as many as of all: behind a proxy everybody comes from there.
        self._strangers: Strangers[socket.socket] = Strangers(STRANGERS, STRANGERS, patience_s)
        self._held: set[socket.socket] = set()  # connections, strangers and others
        self._holding = threading.Lock()
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        try:
            super().__init__(address, _Post)
        except OSError as error:
            where = f"{address[0]}:{address[1]}"
            raise PluginRefusedError(
                f"the webhook cannot listen on {where} ({error.strerror or error}): end what does, "
                "or set another `listen` in [plugins.webhook]"
            ) from None
        self._thread = threading.Thread(
            target=self.serve_forever, args=(LOOK_S,), name="cortex-webhook", daemon=True
        )
        self._thread.start()

    def server_bind(self) -> None:
        """As socketserver does: http.server would ask the network for the name of this machine."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def close(self) -> None:
        """Take no more posts, and cut what is still coming in."""
        self.shutdown()
        self._thread.join()
        self.server_close()
        with self._holding:
            left = list(self._held)
        _cut(left)

    def verify_request(self, request: Any, client_address: Any) -> bool:  # theirs
        """Whether there is room for one more connection."""
        with self._holding:
            if len(self._held) - len(self._strangers) >= AT_ONCE:
                return False
            gone = self._strangers.came(request, str(client_address[0]), time.monotonic_ns())
            self._held.add(request)
        _cut(gone)
        return True

    def known(self, request: socket.socket) -> None:
        """Its request is there: it is answered, whoever comes."""
        with self._holding:
            self._strangers.left(request)

    def shutdown_request(self, request: Any) -> None:
        """Let go of a connection."""
        with self._holding:
            self._strangers.left(request)
            self._held.discard(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cut connections whose request is too long in coming: a byte now and then is no help."""
        with self._holding:
            late = self._strangers.late(time.monotonic_ns())
        _cut(late)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks off is its sender's affair."""


def _cut(connections: Iterable[socket.socket]) -> None:
    for each in connections:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


class _Post(BaseHTTPRequestHandler):
    """One request; every connection carries one."""

    server: WebhookServer
    server_version = SERVER
    sys_version = ""

    def do_POST(self) -> None:  # http.server's
        """Take a post."""
        came_from = str(self.client_address[0])
        try:
            body = self._body()
            self.server.known(self.connection)
        except Refusal as refusal:
            self.server.denied(refusal.reason, came_from)
            self._answer(refusal.status, {"error": refusal.reason})
            self._discard()
            return
        try:
            path = self.path.partition("?")[0]
            answer = self.server.take(path, dict(self.headers.items()), body, came_from)
            self._answer(HTTPStatus.ACCEPTED, answer)
        except Refusal as refusal:
            kind = "error" if refusal.denied else "said"
            self._answer(refusal.status, {kind: refusal.reason})

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "give a Content-Length")
        most = self.server.body_bytes
        if len(length) > len(str(most)) or int(length) > most:
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {most} bytes")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise Refusal(HTTPStatus.BAD_REQUEST, "the body is shorter than its Content-Length")
        return body

    def _discard(self) -> None:
        # Closing while a body is on its way would take the answer from whoever sends it.
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            left = DISCARDED_BYTES
            while left > 0 and (piece := self.connection.recv(1 << 16)):
                left -= len(piece)

    def _answer(self, status: HTTPStatus, document: dict[str, Any]) -> None:
        data = msgspec.json.encode(document) + b"\n"
        with contextlib.suppress(OSError):  # whoever asked may be gone
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:  # http.server's
        """An answer to what is no post at all."""
        self.request_version = self.protocol_version  # HTTP/0.9 would be answered without a status
        said = "only POST is answered here" if code == HTTPStatus.NOT_IMPLEMENTED else message
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else code
        # The phrase: what was sent would make every reason a new one, and each is recorded.
        self.server.denied(HTTPStatus(status).phrase.lower(), str(self.client_address[0]))
        self._answer(HTTPStatus(status), {"error": said or HTTPStatus(code).phrase})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # http.server's
        """Say nothing: what matters is an event."""
