"""Where a hub listens or is dialled: ``inproc://``, ``ipc://``, ``tcp://``, ``tls+tcp://``."""

import ipaddress
import os
import re
import stat
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from ..errors import UrlError

LONGEST_PATH = 100  # bytes of a socket's path that every system takes
FORMS = "write inproc://NAME, ipc:///FOLDER/bus.sock, tls+tcp://HOST:PORT#FINGERPRINT or tcp://…"


class Address(msgspec.Struct, frozen=True):
    """A URL in parts."""

    url: str  # without the fingerprint
    carrier: str  # "inproc", "ipc", "tcp", "tls"
    path: str = ""  # of the socket, or the name in this process
    host: str = ""
    port: int = 0
    fingerprint: str = ""  # SHA-256 of the hub's certificate, hex

    @property
    def loopback(self) -> bool:
        """Whether it never leaves this machine."""
        return self.carrier in ("inproc", "ipc") or is_loopback(self.host)


def parse(url: str) -> Address:
    """The parts of *url*.

    Raises:
        UrlError: It is not a valid address of a hub.
    """
    whole, _, pinned = url.partition("#")
    scheme, _, rest = whole.partition("://")
    if scheme == "inproc" and rest:
        return Address(whole, "inproc", path=rest)
    if scheme == "ipc" and rest:
        return _ipc(whole, rest)
    if scheme not in ("tcp", "tls+tcp") or not rest:
        raise UrlError(url, f"is not an address of a hub: {FORMS}")
    host, port = _host_and_port(whole)
    if not host or port is None:
        raise UrlError(url, f"needs a host and a port from 0 to 65535: {scheme}://HOST:PORT")
    carrier = "tls" if scheme == "tls+tcp" else "tcp"
    return Address(whole, carrier, host=host, port=port, fingerprint=fingerprint_of(pinned))


def fingerprint_of(text: str) -> str:
    """A fingerprint in lower case without colons; empty if it is empty.

    Raises:
        UrlError: It is not a SHA-256 in hex.
    """
    plain = text.lower().removeprefix("sha256:").replace(":", "")
    if plain and not re.fullmatch(r"[0-9a-f]{64}", plain):
        raise UrlError(f"#{text}", "is not a fingerprint: expected 64 hex digits, SHA-256")
    return plain


def _host_and_port(url: str) -> tuple[str | None, int | None]:
    try:
        parts = urlsplit(url)
        if parts.path or parts.query or parts.username is not None:
            return None, None
        return parts.hostname, parts.port
    except ValueError:
        return None, None


def _ipc(url: str, path: str) -> Address:
    if not path.startswith("/"):
        raise UrlError(url, "give the whole path of the socket: ipc:///FOLDER/bus.sock")
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise UrlError(url, f"the path of a socket may not exceed {LONGEST_PATH} bytes")
    return Address(url, "ipc", path=path)


def is_loopback(host: str) -> bool:
    """Whether *host*, a name or an address, is this machine."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def with_port(address: Address, port: int) -> str:
    """The URL of an address bound to *port*."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{address.url.partition('://')[0]}://{host}:{port}"


def checked_path(address: Address) -> None:
    """Refuse a socket's path that other users can reach, or where another file is.

    nng replaces a socket that a killed hub left there.

    Raises:
        UrlError: The address cannot be listened on.
    """
    path = Path(address.path)
    try:
        folder = path.parent.stat()
        if folder.st_uid != os.geteuid() or stat.S_IMODE(folder.st_mode) & 0o077:
            raise UrlError(address.url, f"its folder must be yours alone: chmod 700 {path.parent}")
        if path.is_symlink() or (path.exists() and not path.is_socket()):
            raise UrlError(address.url, f"{path} exists and is not a socket: remove it")
    except OSError as error:
        problem = f"cannot be listened on: {(error.strerror or str(error)).lower()}"
        raise UrlError(address.url, problem) from None
