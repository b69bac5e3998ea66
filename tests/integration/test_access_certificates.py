"""Certificates of a hub and of its clients, as TLS itself takes them."""

import datetime as dt
import socket
import ssl
import stat
import threading
from pathlib import Path

import pytest

from cortex.runtime.access import (
    Certificate,
    GrantInvalidError,
    KeyFileError,
    client_authority,
    client_certificate,
    hub_certificate,
    read_certificate,
    renew_hub_certificate,
)

NOW = dt.datetime.now(dt.UTC)
LONG_AGO = NOW - dt.timedelta(days=4_000)
PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home") / "keys"


@pytest.fixture(scope="module")
def hub(keys: Path) -> Certificate:
    return hub_certificate(keys, ["hub.example", "10.1.2.3"])


def test_it_is_made_once_and_its_key_is_private(keys: Path, hub: Certificate) -> None:
    assert hub_certificate(keys) == hub
    assert stat.S_IMODE(Path(hub.path).stat().st_mode) == 0o600
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    assert {"localhost", "127.0.0.1", "::1", "hub.example", "10.1.2.3"} <= set(hub.hosts)
    assert "PRIVATE" not in hub.pem
    assert not hub.expired(NOW)
    assert not hub.ends_soon(NOW)
    assert hub.ends_soon(hub.expires - dt.timedelta(days=29))


def test_both_sides_prove_themselves_over_tls(keys: Path, hub: Certificate, tmp_path: Path) -> None:
    alice = client_certificate(keys, "alice", tmp_path)

    seen_by_hub, seen_by_client = handshake(hub, client_authority(keys), alice)

    assert seen_by_hub == alice.sha256
    assert seen_by_client == hub.sha256


def test_a_client_certificate_that_has_expired_is_told_apart(
    keys: Path, hub: Certificate, tmp_path: Path
) -> None:
    old = client_certificate(keys, "alice", tmp_path, days=1, now=NOW - dt.timedelta(days=3))

    assert old.expired(NOW)
    with pytest.raises(ssl.SSLError):
        handshake(hub, client_authority(keys), old)


def test_a_hub_certificate_that_has_expired_is_refused_and_can_be_renewed(tmp_path: Path) -> None:
    old = renew_hub_certificate(tmp_path, now=LONG_AGO)

    with pytest.raises(KeyFileError, match="fingerprint --renew"):
        hub_certificate(tmp_path)

    fresh = renew_hub_certificate(tmp_path)
    assert fresh.sha256 != old.sha256
    assert hub_certificate(tmp_path) == fresh


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda path: path.chmod(0o640), "chmod 600"),
        (lambda path: path.write_text("nothing"), "holds no key"),
        (lambda path: path.unlink(), "No such file"),
    ],
)
def test_a_damaged_file_is_named_with_what_to_do(
    tmp_path: Path, damage: object, problem: str
) -> None:
    made = renew_hub_certificate(tmp_path)
    damage(Path(made.path))  # type: ignore[operator]

    with pytest.raises(KeyFileError, match=problem):
        read_certificate(Path(made.path))


def test_the_key_of_another_certificate_is_noticed(tmp_path: Path) -> None:
    one, two = (renew_hub_certificate(tmp_path / each) for each in "ab")
    path = Path(one.path)
    path.write_text(path.read_text().partition("-----BEGIN CERT")[0] + two.pem)

    with pytest.raises(KeyFileError, match="not that of its certificate"):
        read_certificate(path)


def test_a_name_that_no_client_may_have_gets_no_certificate(keys: Path, tmp_path: Path) -> None:
    with pytest.raises(GrantInvalidError):
        client_certificate(keys, "../alice", tmp_path)

    assert list(tmp_path.iterdir()) == []


def handshake(hub: Certificate, authority: Certificate, client: Certificate) -> tuple[str, str]:
    """SHA-256 of the certificate that each side saw of the other."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(hub.path)
    server.load_verify_locations(cadata=authority.pem)
    server.verify_mode = ssl.CERT_REQUIRED
    server.maximum_version = ssl.TLSVersion.TLSv1_2  # a refusal is part of its handshake
    dialer = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    dialer.load_verify_locations(cadata=hub.pem)
    dialer.load_cert_chain(client.path)
    here, there = socket.socketpair()
    seen: list[str] = []

    def serve() -> None:
        with here:
            here.settimeout(PATIENCE_S)
            try:
                with server.wrap_socket(here, server_side=True) as wrapped:
                    seen.append(digest_of(wrapped))
            except OSError:
                return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with there:
            there.settimeout(PATIENCE_S)
            with dialer.wrap_socket(there, server_hostname="hub.example") as wrapped:
                known = digest_of(wrapped)
    finally:
        thread.join(PATIENCE_S)
    return seen[0], known


def digest_of(wrapped: ssl.SSLSocket) -> str:
    import hashlib

    return hashlib.sha256(wrapped.getpeercert(binary_form=True) or b"").hexdigest()
