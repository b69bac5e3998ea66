"""The HTTP side: answers `GET /metrics`, and every other request with one clear line."""

import contextlib
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from typing import Any

from cortex.bus import CortexError

from ..listening import PluginServer

PATH = "/metrics"
PLAIN = "text/plain; charset=utf-8"

Page = Callable[[], tuple[str, bytes]]  # the type of the content, and the content


class MetricsServer(PluginServer):
    """Serves metrics until it is closed.

    Args:
        address: Host and port; port 0 for any.
        page: Makes the page anew.
        patience_s: Within which a request must be complete.

    Raises:
        PluginRefusedError: The address cannot be listened on.
    """

    def __init__(self, address: tuple[str, int], page: Page, patience_s: float) -> None:
        self.page = page
        super().__init__(address, _Scrape, "prometheus", patience_s)

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(str(self.server_address[0]))


class _Scrape(BaseHTTPRequestHandler):
    """One request; every connection carries one."""

    server: MetricsServer
    server_version = "cortex-prometheus"
    sys_version = ""

    def do_GET(self) -> None:  # http.server's
        """Answer with the metrics."""
        self.server.known(self.connection)
        # A page of the web may name this machine by a name of its own, and read the answer then.
        if self.server.is_local and not is_loopback(host_in(self.headers.get("Host", ""))):
            self._answer(HTTPStatus.FORBIDDEN, PLAIN, b"ask for localhost by its own name\n")
        elif self.path.partition("?")[0] != PATH:
            self._answer(HTTPStatus.NOT_FOUND, PLAIN, f"metrics are at {PATH}\n".encode())
        else:
            try:
                self._answer(HTTPStatus.OK, *self.server.page())
            except CortexError as error:
                problem = f"the metrics cannot be read now: {error}\n"
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, PLAIN, problem.encode())

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:  # http.server's
        """An answer to a request that is not a GET."""
        self.request_version = self.protocol_version  # HTTP/0.9 would be answered without a status
        if code == HTTPStatus.NOT_IMPLEMENTED:
            code, message = HTTPStatus.METHOD_NOT_ALLOWED, "only GET is answered here"
        said = message or HTTPStatus(code).phrase
        self._answer(HTTPStatus(code), PLAIN, f"{said}\n".encode(errors="replace"))

    def _answer(self, status: HTTPStatus, kind: str, data: bytes) -> None:
        with contextlib.suppress(OSError):  # the client may be gone
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # http.server's
        """Say nothing."""


def host_in(header: str) -> str:
    """The host of a header `Host`, without its port."""
    if header.startswith("["):
        return header.partition("]")[0][1:]
    return header.partition(":")[0]


def is_loopback(host: str) -> bool:
    """Whether *host* is a name or an address of this machine for itself."""
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
