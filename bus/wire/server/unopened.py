"""Finds network connections that nng has accepted, but that have not completed its greeting.

nng does not report them, gives TLS handshakes unlimited time, and does not limit their number. So
this module finds them among the sockets of the process, and closes them.
"""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

from .strangers import Strangers

MANY_S = 0.1  # interval of checks when many connect


class Unopened:
    """Finds them, and closes those above the limits or too slow.

    Args:
        most: Connections in all.
        an_address: Connections of one address.
        patience_s: Time for the greeting.
    """

    def __init__(self, most: int, an_address: int, patience_s: float) -> None:
        self.strangers: Strangers[str] = Strangers(most, an_address, patience_s)
        self._known: set[str] = set()

    def look(self, ports: set[int], opened: set[str], now_ns: int) -> float | None:
        """Close what must go; return the seconds to the next check, None for no check.

        Args:
            ports: The ports that this process listens on.
            opened: Addresses of the connections that have been greeted.
            now_ns: The monotonic time.
        """
        here = {address for address, _ in _connections(ports)} - opened
        for address in self._known - here:
            self.strangers.left(address)
        late = set(self.strangers.late(now_ns))
        for address in here - self._known:
            late.update(self.strangers.came(address, address.rpartition(":")[0], now_ns))
        self._known = here
        if late:
            for address, sock in _connections(ports):
                if address in late:
                    with contextlib.suppress(OSError):
                        sock.shutdown(socket.SHUT_RDWR)
        many = len(here) > self.strangers.most // 4
        return MANY_S if many else self.strangers.wait_s(now_ns)


def notice_the_dead(port: int) -> None:
    """Detect a silently dead network after 40 s at *port*, not after two hours.

    nng turns keepalive on, with the system's times. Connections inherit those of the socket that
    listens, on Linux; elsewhere nothing changes.
    """
    for sock in _sockets({port}):
        for option, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _connections(ports: set[int]) -> Iterator[tuple[str, socket.socket]]:
    """The accepted connections of this process at *ports*, with the address of the peer."""
    for sock in _sockets(ports):
        with contextlib.suppress(OSError):  # a listening socket
            yield address_of(sock.getpeername()), sock


def _sockets(ports: set[int]) -> Iterator[socket.socket]:
    """The sockets of this process at *ports*; each is valid until the next."""
    for path in Path("/dev/fd").iterdir():
        try:
            # Neither duplicated nor closed: closing a file's duplicate would drop SQLite's locks.
            sock = socket.socket(fileno=int(path.name))
        except OSError:  # not a socket, or already closed
            continue
        try:
            if sock.family in (socket.AF_INET, socket.AF_INET6) and sock.getsockname()[1] in ports:
                yield sock
        except OSError:
            continue
        finally:
            sock.detach()


def address_of(where: tuple[str, int]) -> str:
    """Host and port as one word, without the zone of an IPv6 address."""
    return f"{where[0].partition('%')[0]}:{where[1]}"
