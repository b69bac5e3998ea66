"""Certificates of a hub and of its clients: ECDSA P-256, each with its key in one private file.

A hub's certificate is self-signed: clients pin its SHA-256. Only the owner renews it, since a new
one locks clients out until they have its fingerprint. Certificates of clients are signed by an
authority of the home, which signs nothing else.
"""

import datetime as dt
import hashlib
import ipaddress
import os
import secrets
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cortex.runtime.log import private

from .errors import KeyFileError
from .grants import checked_name

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

HUB_FILE = "hub.pem"
AUTHORITY_FILE = "clients.pem"
HUB_DAYS = 1_825
AUTHORITY_DAYS = 3_650
CLIENT_DAYS = 365
SOON_DAYS = 30  # before the end, when it is time to say so
EARLIER = dt.timedelta(hours=1)  # clocks of other machines may be slow
LOCAL = ("localhost", "127.0.0.1", "::1")
LARGEST = 65_536  # bytes of a file that holds a key and a certificate


class Certificate(msgspec.Struct, frozen=True):
    """A certificate in a file, its key before it."""

    path: str
    sha256: str  # of the certificate, hex: what a client pins
    expires: dt.datetime
    hosts: tuple[str, ...]  # names and addresses that it is for
    pem: str  # the certificate alone, which is no secret

    def expired(self, now: dt.datetime) -> bool:
        """Whether its time is over."""
        return self.expires <= now

    def ends_soon(self, now: dt.datetime) -> bool:
        """Whether it is time to renew it."""
        return self.expires - now < dt.timedelta(days=SOON_DAYS)


def hub_certificate(keys: Path, hosts: Iterable[str] = ()) -> Certificate:
    """The hub's certificate in the folder *keys*, made for this machine and *hosts* if missing.

    Raises:
        KeyFileError: It cannot be used, or has expired.
    """
    path = keys / HUB_FILE
    if not path.exists():
        return renew_hub_certificate(keys, hosts)
    found = read_certificate(path)
    if found.expired(_now()):
        raise KeyFileError(
            str(path),
            f"expired on {found.expires:%Y-%m-%d}: `cortex client fingerprint --renew` makes a new "
            "one, whose fingerprint every client needs",
        )
    return found


def renew_hub_certificate(
    keys: Path, hosts: Iterable[str] = (), now: dt.datetime | None = None
) -> Certificate:
    """A new certificate in the place of the hub's; clients that pin the old one are locked out.

    Raises:
        KeyFileError: It cannot be written.
    """
    from cryptography import x509

    now = now or _now()
    key = _new_key()
    names = [_host(host) for host in dict.fromkeys((*LOCAL, _machine(), *hosts)) if host]
    builder = _builder("cortex hub", key, now, HUB_DAYS).issuer_name(_named("cortex hub"))
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    builder = builder.add_extension(_usage("server"), critical=False)
    return _write(keys / HUB_FILE, key, _signed(builder, key))


def client_authority(keys: Path, now: dt.datetime | None = None) -> Certificate:
    """What signs the certificates of this home's clients, made where it is missing.

    Raises:
        KeyFileError: It cannot be used.
    """
    from cryptography import x509

    path = keys / AUTHORITY_FILE
    if path.exists():
        return read_certificate(path)
    key, name = _new_key(), "cortex clients"
    builder = _builder(name, key, now or _now(), AUTHORITY_DAYS).issuer_name(_named(name))
    only_leaves = x509.BasicConstraints(ca=True, path_length=0)
    builder = builder.add_extension(only_leaves, critical=True)
    return _write(path, key, _signed(builder, key))


def client_certificate(
    keys: Path, name: str, folder: Path, days: int = CLIENT_DAYS, now: dt.datetime | None = None
) -> Certificate:
    """A certificate for the client *name*, with its key, in the file ``NAME.pem`` in *folder*.

    Raises:
        KeyFileError: It cannot be written, or the authority cannot be used.
    """
    from cryptography import x509

    now = now or _now()
    authority = client_authority(keys, now)
    signer, issuer = _loaded(Path(authority.path))
    key = _new_key()
    builder = _builder(checked_name(name), key, now, days).issuer_name(issuer.subject)
    leaf = x509.BasicConstraints(ca=False, path_length=None)
    builder = builder.add_extension(leaf, critical=True)
    builder = builder.add_extension(_usage("client"), critical=False)
    return _write(folder / f"{name}.pem", key, _signed(builder, signer))


def read_certificate(path: Path) -> Certificate:
    """The certificate in the file *path*.

    Raises:
        KeyFileError: It is missing, or others than its owner may read the key beside it.
    """
    _, found = _loaded(path)
    return _described(path, found)


def _loaded(path: Path) -> "tuple[EllipticCurvePrivateKey, x509.Certificate]":
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        with path.open("rb") as file:
            shared = os.fstat(file.fileno()).st_mode & 0o077
            data = file.read(LARGEST)
    except OSError as error:
        raise KeyFileError(
            str(path), f"{error.strerror or error}; check its owner and mode"
        ) from error
    if shared:
        raise KeyFileError(str(path), f"others may read it: chmod 600 {path}")
    try:
        key = load_pem_private_key(data, None)
        found = x509.load_pem_x509_certificate(data)
    except (ValueError, TypeError) as error:
        problem = "holds no key with its certificate: restore it, or remove it and tell the clients"
        raise KeyFileError(str(path), problem) from error
    if not isinstance(key, EllipticCurvePrivateKey) or key.public_key() != found.public_key():
        raise KeyFileError(str(path), "its key is not that of its certificate: restore it")
    return key, found


def _described(path: Path, found: "x509.Certificate") -> Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    pem = found.public_bytes(Encoding.PEM).decode()
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        hosts = tuple(str(each.value) for each in names)
    except x509.ExtensionNotFound:
        hosts = ()
    sha256 = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
    return Certificate(str(path), sha256, found.not_valid_after_utc, hosts, pem)


def _write(path: Path, key: "EllipticCurvePrivateKey", made: "x509.Certificate") -> Certificate:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with open(fresh, "xb", opener=private) as file:
                file.write(secret + made.public_bytes(Encoding.PEM))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)  # whole or not at all: key and certificate belong together
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise KeyFileError(
            str(path), f"cannot be written: {error.strerror or error}; check the folder's mode"
        ) from error
    return _described(path, made)


def _builder(
    name: str, key: "EllipticCurvePrivateKey", now: dt.datetime, days: int
) -> "x509.CertificateBuilder":
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(now + dt.timedelta(days=days))
    )


def _signed(
    builder: "x509.CertificateBuilder", signer: "EllipticCurvePrivateKey"
) -> "x509.Certificate":
    from cryptography.hazmat.primitives.hashes import SHA256

    return builder.sign(signer, SHA256())


def _new_key() -> "EllipticCurvePrivateKey":
    # Here, as all of it: most commands need no certificate, and the library takes its time to load.
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _named(name: str) -> "x509.Name":
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _usage(side: str) -> "x509.ExtendedKeyUsage":
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID as Use

    return x509.ExtendedKeyUsage([Use.SERVER_AUTH if side == "server" else Use.CLIENT_AUTH])


def _host(host: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host)
    except ValueError as error:
        raise KeyFileError(HUB_FILE, f"{host!r} is not a name or address of a machine") from error


def _machine() -> str:
    name = os.uname().nodename
    return name if name.isascii() else ""


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
