"""The bus between processes: a server on sockets, clients that connect, frames that nng carries."""

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .blobs import BLOB_BYTES, BlobAwayError, RemoteBlobs
    from .connected import Connected
    from .connecting import connect
    from .frames import FRAME_BYTES, PAGE_BYTES, VERSIONS, WAIT_S
    from .inside import HubInside
    from .reading import RemoteLog
    from .remote import AWAY_S, RemoteHub
    from .server import HubServer
    from .tls import ServerTls
    from .urls import Address, is_loopback, parse
else:
    lazily(__name__)

__all__ = [
    "AWAY_S",
    "BLOB_BYTES",
    "FRAME_BYTES",
    "PAGE_BYTES",
    "VERSIONS",
    "WAIT_S",
    "Address",
    "BlobAwayError",
    "Connected",
    "HubInside",
    "HubServer",
    "RemoteBlobs",
    "RemoteHub",
    "RemoteLog",
    "ServerTls",
    "connect",
    "is_loopback",
    "parse",
]
