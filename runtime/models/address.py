"""Where an endpoint is: the one spelling of a base_url that every HTTP client reads alike."""

import ipaddress
import re
from urllib.parse import unquote

import msgspec

from cortex.bus.wire import is_loopback

# Stricter than URLs are: what two parsers could read as two hosts (user:password@, a backslash, a
# blank) is refused, as the check of the host must hold for the client that connects.
_WEB = re.compile(
    r"(?P<scheme>https?)://"
    r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?))"
    r"(?::(?P<port>\d{1,5}))?"
    r"(?P<path>(?:/[A-Za-z0-9._~%-]*)*)"
)
_SOCKET = re.compile(r"unix://(?P<socket>/[^\x00-\x20?#]+)")
_PORTS = {"http": 80, "https": 443}


class Address(msgspec.Struct, frozen=True):
    """Where to connect, and the path that all requests start with."""

    scheme: str  # "http" or "https"
    host: str
    port: int
    path: str = ""  # "/v1"; without a slash at its end
    socket: str = ""  # path of a unix socket, in place of host and port

    @property
    def on_this_host(self) -> bool:
        """Whether what is sent there stays on this host."""
        return bool(self.socket) or is_loopback(self.host)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"unix://{self.socket}" if self.socket else f"{host}:{self.port}"


def address_of(base_url: str) -> Address | None:
    """The address that *base_url* names; None where it is not written as one must be."""
    if unix := _SOCKET.fullmatch(base_url):
        return Address("http", "localhost", 80, socket=unix["socket"])
    web = _WEB.fullmatch(base_url)
    if web is None or {".", ".."} & set(unquote(web["path"]).split("/")):
        return None
    port = int(web["port"] or _PORTS[web["scheme"]])
    host = (web["six"] or web["host"]).lower()
    if not 0 < port < 1 << 16 or (web["six"] and not _is_six(host)):
        return None
    return Address(web["scheme"], host, port, web["path"].rstrip("/"))


def _is_six(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True
