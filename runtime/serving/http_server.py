"""An HTTP server that is bounded in time and in number, whoever connects."""

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cortex.bus import Strangers, SystemClock

from .errors import ListenError

AT_ONCE = 32  # requests that are being answered; one more is closed
STRANGERS = 64  # connections whose request is not there yet; the oldest makes room for one more
BACKLOG = 1_024  # of connections not accepted yet; one more has to knock again after a second
LOOK_S = 0.25  # how often connections are looked at for one that takes too long


class BoundedServer(ThreadingHTTPServer):
    """Serves requests, each in its own connection, until it is closed.

    Args:
        address: Host and port; port 0 for any.
        handler: Answers requests; it calls `known` once one is complete, and `awaits` where the
            connection stays open for another one.
        name: Of the server, for its thread.
        patience_s: Within which a request must be complete.

    Raises:
        ListenError: The address cannot be listened on.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = BACKLOG

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        name: str,
        patience_s: float,
    ) -> None:
        # Of one address as many as of all: behind a proxy everybody comes from there.
        self._strangers: Strangers[socket.socket] = Strangers(STRANGERS, STRANGERS, patience_s)
        self._held: set[socket.socket] = set()  # connections, strangers and others
        self._holding = threading.Lock()
        self._monotonic_ns = SystemClock().monotonic_ns
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        try:
            super().__init__(address, handler)
        except OSError as error:
            raise ListenError(*address, error.strerror or str(error)) from None
        self._thread = threading.Thread(
            target=self.serve_forever, args=(LOOK_S,), name=f"cortex-{name}", daemon=True
        )
        self._thread.start()

    def server_bind(self) -> None:
        """As socketserver does: http.server would ask the network for the name of this machine."""
        socketserver.TCPServer.server_bind(self)
        host, port = self.server_address[:2]
        self.server_name, self.server_port = str(host), int(port)

    def close(self) -> None:
        """Take no more requests, and cut what is still coming in."""
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
            self._held.add(request)
        self.awaits(request, client_address)
        return True

    def awaits(self, request: socket.socket, client_address: Any) -> None:
        """A request may come on this connection, the first one or another."""
        with self._holding:
            if request not in self._held:
                return  # it was cut
            gone = self._strangers.came(request, str(client_address[0]), self._monotonic_ns())
        _cut(gone)

    def known(self, request: socket.socket) -> None:
        """Its request is complete: it is answered, even if new connections come."""
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
            late = self._strangers.late(self._monotonic_ns())
        _cut(late)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks off is its sender's affair."""


def _cut(connections: Iterable[socket.socket]) -> None:
    for each in connections:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
