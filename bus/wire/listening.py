"""Sockets to listen on, and what makes a stream of a connection that came by one."""

import os
import socket
import ssl
import stat
from collections.abc import Callable
from pathlib import Path

from ..access import Peer
from ..clock import lasting
from ..errors import UrlError
from .frames import HELLO_BYTES
from .pipe import Gone, PlainPipe, TlsPipe
from .stream import Stream
from .tls import client_certificate
from .urls import Address

BACKLOG = 1_024  # of connections not accepted yet; one more has to knock again after a second
HELLO_S = 10.0  # in which a client has to be let in, from the connection to its hello
KNOCK_S = 1.0  # how long a socket file's owner may take to be found alive


def opener(
    sock: socket.socket, where: object, carrier: str, context: ssl.SSLContext | None
) -> Callable[[], tuple[Stream, Peer]]:
    """What makes a stream of an accepted socket, in the connection's own thread."""
    address = f"{where[0]}:{where[1]}" if isinstance(where, tuple) else ""

    def plain() -> tuple[Stream, Peer]:
        pipe = PlainPipe(sock)
        marked = carrier == "ipc"
        return Stream(pipe, marked=marked, limit_bytes=HELLO_BYTES), Peer(carrier, address)

    def under_tls(context: ssl.SSLContext) -> tuple[Stream, Peer]:
        pipe = TlsPipe(sock, context, None)
        try:
            pipe.shake(HELLO_S)
        except ssl.SSLError as error:
            pipe.close()
            raise Gone(f"no TLS: {error.reason or error}") from None
        except Gone:
            pipe.close()
            raise
        certificate, problem = client_certificate(pipe)
        peer = Peer(carrier, address, certificate, problem)
        return Stream(pipe, marked=False, limit_bytes=HELLO_BYTES), peer

    return plain if context is None else lambda: under_tls(context)


def bind_port(address: Address) -> socket.socket:
    """A socket that listens on a port.

    Raises:
        UrlError: It cannot be listened on.
    """
    try:
        family = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise UrlError(address.url, f"cannot be listened on: {_said(error)}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise UrlError(address.url, f"cannot be listened on: {_said(error)}") from None
    return listener


def bind_path(address: Address) -> socket.socket:
    """A socket in a folder that is its owner's alone.

    A file that a killed hub left behind is replaced; one that somebody listens on is not.
    """
    path = Path(address.path)
    try:
        folder = path.parent.stat()
        if folder.st_uid != os.geteuid() or stat.S_IMODE(folder.st_mode) & 0o077:
            raise UrlError(address.url, f"its folder must be yours alone: chmod 700 {path.parent}")
        if path.exists() or path.is_symlink():
            _remove_stale(address, path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except OSError as error:
        raise UrlError(address.url, f"cannot be listened on: {_said(error)}") from None
    try:
        listener.bind(address.path)
        path.chmod(0o600)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise UrlError(address.url, f"cannot be listened on: {_said(error)}") from None
    return listener


def _remove_stale(address: Address, path: Path) -> None:
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise UrlError(address.url, f"{path} is there and is no socket: remove it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        knock.settimeout(lasting(KNOCK_S))
        try:
            knock.connect(address.path)
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except FileNotFoundError:
            return
        except OSError:  # its backlog is full: somebody is there
            pass
    raise UrlError(address.url, "another hub listens there: stop it, or take another address")


def identity(path: Path) -> tuple[int, int]:
    """Which file this is, whatever it is called."""
    status = path.lstat()
    return status.st_dev, status.st_ino


def _said(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
