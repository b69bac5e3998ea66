"""`connect`: a client of a hub, wherever that is."""

from pathlib import Path

from ..client import Client
from ..errors import ClientDeniedError, UrlError
from ..event import Event
from ..events import VOCABULARY
from ..requests import Answer
from ..vocabulary import Vocabulary
from . import inproc
from .blobs import RemoteBlobs
from .channel import Way
from .frames import GetBlob, PutBlob
from .reading import RemoteLog
from .remote import AWAY_S, RemoteHub
from .tls import ClientTls
from .urls import fingerprint_of, parse


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
    """A client of the hub at *url*; it is a context manager, and `close` lets go of the hub.

    Args:
        url: ``inproc://NAME``, ``ipc:///FOLDER/bus.sock``, ``tls+tcp://HOST:PORT#FINGERPRINT`` or,
            on loopback, ``tcp://HOST:PORT``.
        token: What proves who comes, as `cortex client add` shows it once. None, which an unset
            variable gives, is refused before anything is sent.
        name: What this client calls itself; the hub says who it is.
        fingerprint: SHA-256 of the hub's certificate, instead of the one in the URL.
        authority: PEM of whoever signed the hub's certificate, instead of a fingerprint.
        certificate: PEM of this client's own certificate, with its *key*.
        key: PEM of its private key.
        vocabulary: The events it reads; None for those of Cortex, or of a hub in this process.
        events: Event classes of its own, which it reads beside them.
        away_s: How long a caller waits while the hub is away.

    Raises:
        UrlError: The address cannot be used; the message says why.
        HubAwayError: Nobody listens there.
        HubUnverifiedError: Whoever listens there is not the hub that was meant.
        ClientDeniedError: The hub does not let this client in.
        VersionError: They have no version of the protocol in common.
    """
    address = parse(url)
    if token is None:
        raise ClientDeniedError(name, "it has no token: `cortex client add` shows one")
    if address.carrier == "inproc":
        return inproc.connect(address.path, token, name, vocabulary, events)
    known = vocabulary or VOCABULARY
    if events:
        known = known.extended(events)
    if address.carrier == "tcp" and not address.loopback:
        raise UrlError(url, "would send the token in the clear: write tls+tcp://HOST:PORT")
    tls = ClientTls(
        fingerprint_of(fingerprint) or address.fingerprint,
        _path(authority),
        _path(certificate),
        _path(key),
    )
    hub = RemoteHub(Way(address, token, name, tls=tls), known, away_s)

    def ask(request: PutBlob | GetBlob) -> Answer:
        return hub.ask_one("", request)

    return Client(hub.name, hub, RemoteLog(hub), known, RemoteBlobs(ask), closes=True)


def _path(path: Path | str | None) -> Path | None:
    return None if path is None else Path(path)
