"""The HTTP side: bounded in size, time and number, with one clear answer to everything."""

import contextlib
import socket
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

import msgspec

from ..listening import PluginServer
from .reading import Refusal

DISCARDED_BYTES = 64 << 20  # of a body that is not taken
SERVER = "cortex-webhook"

Take = Callable[[str, Mapping[str, str], bytes, str], dict[str, Any]]  # path, headers, body, from
Denied = Callable[[str, str], None]  # reason, from


class WebhookServer(PluginServer):
    """Serves posts until it is closed.

    Args:
        address: Host and port; port 0 for any.
        take: Makes a trigger of a post and says what to answer; raises Refusal.
        denied: Called with each earlier refusal.
        body_bytes: Most that a body may have.
        patience_s: Within which a request must be complete.

    Raises:
        PluginRefusedError: The address cannot be listened on.
    """

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
        super().__init__(address, _Post, "webhook", patience_s)


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
        # Closing while a body is on its way would lose the answer for its sender.
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            left = DISCARDED_BYTES
            while left > 0 and (piece := self.connection.recv(1 << 16)):
                left -= len(piece)

    def _answer(self, status: HTTPStatus, document: dict[str, Any]) -> None:
        data = msgspec.json.encode(document) + b"\n"
        with contextlib.suppress(OSError):  # the client may be gone
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:  # http.server's
        """An answer to a request that is not a POST."""
        self.request_version = self.protocol_version  # HTTP/0.9 would be answered without a status
        said = "only POST is answered here" if code == HTTPStatus.NOT_IMPLEMENTED else message
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else code
        # The phrase: what was sent would make every reason a new one, and each is recorded.
        self.server.denied(HTTPStatus(status).phrase.lower(), str(self.client_address[0]))
        self._answer(HTTPStatus(status), {"error": said or HTTPStatus(code).phrase})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # http.server's
        """Say nothing: what matters is an event."""
