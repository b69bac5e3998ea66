"""Limits connections that are not authenticated yet: how many, from where, for how long.

It is a policy only and holds no socket, so every carrier can use the same one. An authenticated
connection no longer counts here, and never loses its place to one that is not.
"""

import ipaddress
from collections.abc import Hashable
from typing import Generic, TypeVar

Connection = TypeVar("Connection", bound=Hashable)


class Strangers(Generic[Connection]):
    """Says which connections to close; its owner closes them, and holds any lock that is needed.

    The oldest goes first: a new connection is always accepted, and may authenticate until
    newer ones have filled the limit.

    Args:
        most: Connections in all.
        an_address: Connections of one address; for IPv6, of one /64 network.
        patience_s: Time for a connection to authenticate, however slowly it sends.
    """

    def __init__(self, most: int, an_address: int, patience_s: float) -> None:
        self.most, self.an_address = most, an_address
        self.patience_ns = int(patience_s * 1e9)
        self._came: dict[Connection, tuple[str, int]] = {}  # address and time, the oldest first
        self._of: dict[str, dict[Connection, None]] = {}  # by address, the oldest first

    def __len__(self) -> int:
        return len(self._came)

    def came(self, connection: Connection, address: str, now_ns: int) -> list[Connection]:
        """Add a connection from *address* (a host); returns the connections to close for it."""
        network = _network_of(address)
        gone: list[Connection] = []
        own = self._of.get(network, {})
        if len(own) >= self.an_address:
            gone.append(next(iter(own)))
        elif len(self._came) >= self.most:
            gone.append(next(iter(self._came)))
        for each in gone:
            self.left(each)
        self._came[connection] = (network, now_ns)
        self._of.setdefault(network, {})[connection] = None
        return gone

    def left(self, connection: Connection) -> None:
        """The connection has authenticated, or is gone; a second call does nothing."""
        network, _ = self._came.pop(connection, ("", 0))
        own = self._of.get(network)
        if own is not None:
            own.pop(connection, None)
            if not own:
                del self._of[network]

    def late(self, now_ns: int) -> list[Connection]:
        """Connections whose time is over, which are to be closed."""
        late: list[Connection] = []
        for connection, (_, came_ns) in self._came.items():
            if now_ns - came_ns < self.patience_ns:
                break
            late.append(connection)
        for connection in late:
            self.left(connection)
        return late

    def wait_s(self, now_ns: int) -> float | None:
        """How long until `late` may return something; None: not before a new connection."""
        for _, came_ns in self._came.values():
            return max(0.0, (came_ns + self.patience_ns - now_ns) / 1e9)
        return None


def _network_of(address: str) -> str:
    """The unit for which strangers are counted: an address, or an IPv6 network."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
