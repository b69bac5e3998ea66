"""Serves a witness over HTTP on loopback: `add-checkpoint`, and the newest head of each log.

For other machines, put a web server with TLS in front of it. The signature under a head is all that
says who asks, as C2SP tlog-witness has it.
"""

import contextlib
import re
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, Self

from cortex.runtime.serving import BoundedServer, ListenError

from .notes import AuditError
from .witness import Reply, Witness

HOST: Final = "127.0.0.1"
BODY_BYTES: Final = 256 << 10  # 64 signatures of ML-DSA-44 take 210 kB
PATIENCE_S: Final = 10.0  # for a whole request
_CHECKPOINT: Final = re.compile(r"/([0-9a-f]{64})/checkpoint")


class WitnessServer(BoundedServer):
    """Answers from the moment it is made until the block is left.

    Args:
        witness: Which is asked.
        port: On loopback; 0 for any.
        patience_s: Within which a request must be complete.

    Raises:
        AuditError: The port cannot be listened on.
    """

    def __init__(self, witness: Witness, port: int = 0, *, patience_s: float = PATIENCE_S) -> None:
        self.witness = witness
        try:
            super().__init__((HOST, port), _Request, "witness", patience_s)
        except ListenError as error:
            raise AuditError(str(error)) from None

    @property
    def url(self) -> str:
        """The prefix of its addresses."""
        return f"http://{HOST}:{self.server_address[1]}"

    def __enter__(self) -> Self:
        """Itself, until the block is left."""
        return self

    def __exit__(self, *_: object) -> None:
        """Answer no more."""
        self.close()


class _Request(BaseHTTPRequestHandler):
    """The requests of one connection, which stays open between them."""

    server: WitnessServer
    protocol_version = "HTTP/1.1"
    server_version = "cortex-witness"
    sys_version = ""

    def do_POST(self) -> None:  # http.server's
        """Take a head."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()) or "Transfer-Encoding" in self.headers:
            self._refuse(411, "give a Content-Length")
        elif len(length) > len(str(BODY_BYTES)) or int(length) > BODY_BYTES:
            self._refuse(413, f"a body has at most {BODY_BYTES} bytes")
        else:
            body = self.rfile.read(int(length))
            self.server.known(self.connection)
            if len(body) < int(length):
                self._refuse(400, "the body is shorter than its Content-Length")
            elif self.path != "/add-checkpoint":
                self._answer(Reply(404, "post to add-checkpoint\n"))
            else:
                self._answer(self._asked(body))

    def do_GET(self) -> None:  # http.server's
        """Give the newest head of a log."""
        self.server.known(self.connection)
        named = _CHECKPOINT.fullmatch(self.path)
        self._answer(self._asked(named[1]) if named else Reply(404, "there is nothing here\n"))

    def _asked(self, what: bytes | str) -> Reply:
        try:
            if isinstance(what, str):
                return self.server.witness.checkpoint(what)
            return self.server.witness.add_checkpoint(what)
        except (AuditError, OSError):  # its paths are no affair of who asks
            return Reply(500, "this witness cannot keep what it sees: ask who runs it\n")

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True  # what follows may be the rest of a body
        self._answer(Reply(status, f"{why}\n"))

    def _answer(self, reply: Reply) -> None:
        data = reply.body.encode()
        with contextlib.suppress(OSError):  # the client may be gone
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(data)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)
            if not self.close_connection:
                self.server.awaits(self.connection, self.client_address)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # http.server's
        """Say nothing."""
