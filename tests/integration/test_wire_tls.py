"""Over TLS the hub is known before it is told anything, and a client by its certificate."""

import datetime as dt
import hashlib
import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from cortex.bus import (
    ClientDeniedError,
    HubUnverifiedError,
    Peer,
    ServerTls,
    UrlError,
    connect,
)
from cortex.runtime.access import client_authority, client_certificate, hub_certificate

from .wire_world import LONG_S, WORDS, Noting, Said, Wired


class Keeping(Noting):
    """Notes who came."""

    def __init__(self) -> None:
        super().__init__()
        self.peers: list[Peer] = []

    def admit(self, token: str, name: str, peer: Peer) -> str:
        self.peers.append(peer)
        return super().admit(token, name, peer)


class Secured:
    """A hub under TLS that takes client certificates of its own authority."""

    def __init__(self, folder: Path) -> None:
        self.keys = folder / "keys"
        self.keys.mkdir(mode=0o700)
        self.access = Keeping()
        self.wired = Wired(folder, self.access)
        self.shown = hub_certificate(self.keys)
        self.authority = folder / "authority.pem"
        self.authority.write_text(client_authority(self.keys).pem)
        tls = ServerTls(Path(self.shown.path), clients=self.authority)
        self.url = self.wired.server.listen("tls+tcp://127.0.0.1:0", tls=tls)
        self.hub_pem = folder / "hub-certificate.pem"
        self.hub_pem.write_text(self.shown.pem)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    made = Secured(tmp_path_factory.mktemp("secured"))
    yield made
    made.wired.close()


def test_the_pinned_hub_is_taken(secured: Secured) -> None:
    colons = ":".join(secured.shown.sha256[i : i + 2] for i in range(0, 64, 2)).upper()
    for how in ({"url": f"{secured.url}#{secured.shown.sha256}"}, {"fingerprint": colons}):
        with connect(**{"url": secured.url, **how}, name="a", vocabulary=WORDS) as client:  # type: ignore[arg-type]
            assert client.publish(Said(text="x" * 200_000)) == client.head


def test_a_hub_of_a_known_authority_is_taken(secured: Secured) -> None:
    url = secured.url.replace("127.0.0.1", "localhost")

    with connect(url, name="a", authority=secured.hub_pem) as client:
        assert client.name == "a"


def test_threads_that_dial_at_once_all_come_in(secured: Secured) -> None:
    """With TLS 1.3, one of a hundred handshakes at once failed, and some ended the process."""
    pinned = f"{secured.url}#{secured.shown.sha256}"

    def dial(which: int) -> None:
        for _ in range(30):
            connect(pinned, name=f"dialler-{which}").close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(dial, range(8)))


def test_a_hub_speaks_no_version_of_tls_that_is_unsafe_with_threads(secured: Secured) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    port = int(secured.url.rpartition(":")[2])

    with (
        socket.create_connection(("127.0.0.1", port), LONG_S) as sock,
        pytest.raises(ssl.SSLError, match="ALERT"),
    ):
        context.wrap_socket(sock)


def test_a_hub_with_an_rsa_key_is_refused(tmp_path: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hub")])
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    now = dt.datetime.now(dt.UTC)
    made = made.not_valid_before(now).not_valid_after(now + dt.timedelta(days=1))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem = tmp_path / "hub.pem"
    pem.write_bytes(secret + made.sign(key, SHA256()).public_bytes(Encoding.PEM))
    wired = Wired(tmp_path, Noting())
    try:
        with pytest.raises(UrlError, match="its key is not for ECDSA"):
            wired.server.listen("tls+tcp://127.0.0.1:0", tls=ServerTls(pem))
    finally:
        wired.close()


@pytest.mark.parametrize("holds", [b"", b"no certificate", b"\xff\xfe"])
def test_a_file_that_holds_no_certificate_is_one_clear_line(tmp_path: Path, holds: bytes) -> None:
    pem = tmp_path / "hub.pem"
    pem.write_bytes(holds)
    wired = Wired(tmp_path, Noting())
    try:
        with pytest.raises(UrlError, match=r"hub\.pem.*cannot be used for TLS"):
            wired.server.listen("tls+tcp://127.0.0.1:0", tls=ServerTls(pem))
    finally:
        wired.close()


def test_another_hub_than_the_pinned_one_is_told_nothing(secured: Secured) -> None:
    before = len(secured.access.peers)

    with pytest.raises(HubUnverifiedError, match="not the pinned"):
        connect(f"{secured.url}#{'0' * 64}", token="secret")

    assert len(secured.access.peers) == before


def test_a_hub_of_an_unknown_authority_is_told_nothing(secured: Secured) -> None:
    with pytest.raises(HubUnverifiedError, match="is not the expected hub"):
        connect(secured.url, authority=secured.authority)


def test_without_a_pin_nobody_dials(secured: Secured) -> None:
    with pytest.raises(UrlError, match="`cortex client fingerprint` prints it"):
        connect(secured.url)
    with pytest.raises(UrlError, match="is not a fingerprint"):
        connect(f"{secured.url}#abc")
    with pytest.raises(UrlError, match="in the clear"):
        connect("tcp://192.0.2.1:7")


def test_a_clients_certificate_is_known(secured: Secured) -> None:
    made = client_certificate(secured.keys, "builder", secured.keys)

    connect(f"{secured.url}#{secured.shown.sha256}", name="builder", certificate=made.path).close()

    peer = secured.access.peers[-1]
    assert (peer.carrier, peer.certificate, peer.problem) == ("tls", "builder", "")


def test_a_client_whose_certificate_has_expired_is_told_so(secured: Secured) -> None:
    long_ago = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    made = client_certificate(secured.keys, "late", secured.keys, days=30, now=long_ago)

    with pytest.raises(ClientDeniedError, match="it has expired, is not valid yet"):
        connect(f"{secured.url}#{secured.shown.sha256}", name="late", certificate=made.path)


def test_a_clients_certificate_of_another_authority_is_refused(
    secured: Secured, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    client_authority(tmp_path)
    made = client_certificate(tmp_path, "stranger", tmp_path)

    with pytest.raises(ClientDeniedError, match="not one that this hub signed"):
        connect(f"{secured.url}#{secured.shown.sha256}", certificate=made.path, away_s=0.1)

    peer = secured.access.peers[-1]
    assert (peer.certificate, bool(peer.problem)) == ("", True)


def test_the_fingerprint_is_of_the_certificate_that_is_shown(secured: Secured) -> None:
    der = ssl.PEM_cert_to_DER_cert(secured.shown.pem)

    assert hashlib.sha256(der).hexdigest() == secured.shown.sha256


@pytest.mark.parametrize("says", [b"", b"\x16\x03\x01\x40\x00"], ids=["silent", "dripping"])
def test_a_handshake_that_does_not_come_is_cut(secured: Secured, says: bytes) -> None:
    secured.wired.server.unopened.strangers.patience_ns = 100_000_000
    port = int(secured.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), LONG_S) as sock:
        sock.sendall(says)
        if says:
            sock.settimeout(0.01)
        assert ended(sock, drip=bool(says))


def ended(sock: socket.socket, *, drip: bool) -> bool:
    """Whether the hub closes *sock*, into which a byte *drip*s whenever nothing came."""
    for _ in range(0x3000 if drip else 1):
        try:
            if drip:
                sock.sendall(b"\0")
            return not sock.recv(1)
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False
