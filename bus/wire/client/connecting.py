"""`connect`: makes a client of a hub, local or remote."""

from pathlib import Path

from ...client.client import Client
from ...errors import ClientDeniedError, UrlError
from ...event import Event
from ...events import VOCABULARY
from ...requests import Answer
from ...vocabulary import Vocabulary
from .. import inproc
from ..frames import GetBlob, PutBlob
from ..tls import ClientTls
from ..urls import fingerprint_of, parse
from .channel import Way
from .reading import RemoteLog
from .remote import AWAY_S, RemoteHub
from .remote_blobs import RemoteBlobs


def connect(
    url: str,
    *,
    token: str | None = "",
    name: str = "",
    fingerprint: str = "",
    authority: Path | str | None = None,
    certificate: Path | str | None = None,
    key: Path | str | None = None,
    vocabulary: Vocabulary | None = None,
    events: tuple[type[Event], ...] = (),
    away_s: float = AWAY_S,
) -> Client:
    """A client of the hub at *url*; a context manager; `close` disconnects it.

    Args:
        url: ``inproc://NAME``, ``ipc:///FOLDER/bus.sock``, ``tls+tcp://HOST:PORT#FINGERPRINT`` or,
            on loopback, ``tcp://HOST:PORT``.
        token: Proves the client's identity; `cortex client add` shows it once. None, as from an
            unset variable, is refused before anything is sent.
        name: The name that the client states; the hub returns the authenticated one.
        fingerprint: SHA-256 of the hub's certificate, instead of the one in the URL.
        authority: PEM of the authority that signed the hub's certificate, instead of a fingerprint.
        certificate: PEM of this client's own certificate, with its *key*.
        key: PEM of its private key.
        vocabulary: The events it decodes; None for Cortex's, or those of a hub in this process.
        events: Event classes of its own, in addition.
        away_s: How long a caller waits while the hub is unreachable.

    Raises:
        UrlError: The address cannot be used; the message says why.
        HubAwayError: No hub listens there.
        HubUnverifiedError: Another program or hub than the expected one listens there.
        ClientDeniedError: The hub does not admit this client.
        VersionError: Client and hub have no protocol version in common.
    """
    address = parse(url)
    if token is None:
        raise ClientDeniedError(name, "it has no token: `cortex client add` shows one")
    if address.carrier == "inproc":
        return inproc.connect(address.path, token, name, vocabulary, events)
    if address.carrier == "tcp" and not address.loopback:
        raise UrlError(url, "would send the token in the clear: write tls+tcp://HOST:PORT")
    tls = ClientTls(
        fingerprint_of(fingerprint) or address.fingerprint,
        _path(authority),
        _path(certificate),
        _path(key),
    )
    known = vocabulary or VOCABULARY
    if events:
        known = known.extended(events)
    return _client_of(RemoteHub(Way(address, token, name, tls=tls), known, away_s), known)


def _client_of(hub: RemoteHub, known: Vocabulary) -> Client:
    def ask(request: PutBlob | GetBlob) -> Answer:
        return hub.ask_one("", request)

    return Client(hub.name, hub, RemoteLog(hub), known, RemoteBlobs(ask), closes=True)


def _path(path: Path | str | None) -> Path | None:
    return None if path is None else Path(path)
