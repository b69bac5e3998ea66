"""The bus between processes: a server on sockets, clients that connect, frames that nng carries."""

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .client.connecting import connect
    from .client.remote import AWAY_S, RemoteHub
    from .frames import FRAME_BYTES, PAGE_BYTES, VERSIONS, WAIT_S
    from .server.connected_client import Connected
    from .server.inside import HubInside
    from .server.server import HubServer
    from .tls import ServerTls
    from .urls import Address, is_loopback, parse
else:
    lazily(__name__)

__all__ = [
    "AWAY_S",
    "FRAME_BYTES",
    "PAGE_BYTES",
    "VERSIONS",
    "WAIT_S",
    "Address",
    "Connected",
    "HubInside",
    "HubServer",
    "RemoteHub",
    "ServerTls",
    "connect",
    "is_loopback",
    "parse",
]
