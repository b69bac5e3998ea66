"""TLS on both sides: the hub's certificate, and how a client verifies it before it sends a token.

nng does not show the fingerprint of a certificate. So a client first does a handshake by itself,
compares the hash of the certificate, and then lets nng accept only that certificate.

Both sides speak TLS 1.2 with ECDSA keys, nothing else. pynng's build of Mbed TLS has no locks, and
handshakes of several threads then damage what it shares: the key store of TLS 1.3, and the blinding
of an RSA key. With TLS 1.2 and ECDSA, connections share nothing that is written.
"""

import hashlib
import hmac
import socket
import ssl
from pathlib import Path

import msgspec
import pynng

from ..clock import lasting
from ..errors import HubUnverifiedError, UrlError
from .frames import Gone
from .urls import Address


class ServerTls(msgspec.Struct, frozen=True):
    """The certificate that a hub shows, and the client certificates that it accepts."""

    certificate: Path  # PEM, the chain
    key: Path | None = None  # PEM; None if it is in the same file
    clients: Path | None = None  # PEM of the authorities whose client certificates are accepted
    require: bool = False  # a client without one is not admitted


class ClientTls(msgspec.Struct, frozen=True):
    """How a client verifies its hub, and its own certificate."""

    fingerprint: str = ""  # SHA-256 of the hub's certificate
    authority: Path | None = None  # PEM; the certificate must then be valid for the host's name
    certificate: Path | None = None
    key: Path | None = None


def server_config(tls: ServerTls) -> pynng.TLSConfig:
    """TLS settings of nng for listening. An invalid client certificate is refused at the hello.

    Raises:
        UrlError: The files cannot be used, or the key is not for ECDSA.
    """
    try:
        own, key = tls.certificate.read_text(), (tls.key or tls.certificate).read_text()
        config = pynng.TLSConfig(
            pynng.TLSConfig.MODE_SERVER,
            own_cert_string=own,
            own_key_string=key,
            ca_string=None if tls.clients is None else tls.clients.read_text(),
            auth_mode=None if tls.clients is None else pynng.TLSConfig.AUTH_MODE_OPTIONAL,
        )
        is_ecdsa = _is_ecdsa(own)
    except (OSError, ValueError, pynng.NNGException) as error:
        raise UrlError(str(tls.certificate), f"cannot be used for TLS: {error}") from None
    if not is_ecdsa:
        problem = "its key is not for ECDSA; a hub needs one (`openssl ecparam -name prime256v1`)"
        raise UrlError(str(tls.certificate), problem)
    return _without_sharing(config)


def client_config(address: Address, tls: ClientTls, wait_s: float) -> pynng.TLSConfig:
    """TLS settings of nng for dialling the hub at *address*, after its certificate was verified.

    Raises:
        UrlError: Neither fingerprint nor authority is given, or a file cannot be used.
        HubUnverifiedError: The hub shows another certificate.
        Gone: The hub cannot be reached, or does not speak TLS.
    """
    shown = _shown(address, tls, wait_s)
    if tls.authority is None:
        known, name = ssl.DER_cert_to_PEM_cert(shown), _name_in(shown)
    else:
        known, name = tls.authority.read_text(), address.host
    own = None if tls.certificate is None else tls.certificate
    try:
        config = pynng.TLSConfig(
            pynng.TLSConfig.MODE_CLIENT,
            server_name=name,
            ca_string=known,
            own_cert_string=None if own is None else own.read_text(),
            own_key_string=None if own is None else (tls.key or own).read_text(),
            auth_mode=pynng.TLSConfig.AUTH_MODE_REQUIRED,
        )
    except (OSError, ValueError, pynng.NNGException) as error:
        raise UrlError(address.url, f"the certificates cannot be used: {error}") from None
    return _without_sharing(config)


def _without_sharing(config: pynng.TLSConfig) -> pynng.TLSConfig:
    """*config* for TLS 1.2 alone."""
    # By what pynng keeps for itself (SLF001): it has no method for that.
    only = pynng.lib.NNG_TLS_1_2
    pynng.check_err(pynng.lib.nng_tls_config_version(config._tls_config, only, only))  # noqa: SLF001
    return config


def _is_ecdsa(pem: str) -> bool:
    from cryptography import x509  # slow to import
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

    return isinstance(
        x509.load_pem_x509_certificate(pem.encode()).public_key(), EllipticCurvePublicKey
    )


def _shown(address: Address, tls: ClientTls, wait_s: float) -> bytes:
    """The hub's certificate (DER), after verification."""
    url, context = address.url, _context(address.url, tls)
    try:
        where = (address.host, address.port)
        with (
            socket.create_connection(where, lasting(wait_s)) as sock,
            context.wrap_socket(sock, server_hostname=address.host) as secured,
        ):
            shown = secured.getpeercert(binary_form=True) or b""
    except ssl.SSLCertVerificationError as error:
        raise HubUnverifiedError(url, error.verify_message) from None
    except (ssl.SSLEOFError, ConnectionResetError):
        raise Gone("it ended the TLS handshake", cut=True) from None
    except ssl.SSLError as error:
        raise Gone(f"no TLS: {(error.reason or str(error)).lower().replace('_', ' ')}") from None
    except OSError as error:
        raise Gone((error.strerror or str(error) or type(error).__name__).lower()) from None
    digest = hashlib.sha256(shown).hexdigest()
    if tls.fingerprint and not hmac.compare_digest(digest, tls.fingerprint):
        raise HubUnverifiedError(
            url, f"it shows the certificate {digest}, not the pinned {tls.fingerprint}"
        )
    return shown


def _context(url: str, tls: ClientTls) -> ssl.SSLContext:
    if not tls.fingerprint and tls.authority is None:
        raise UrlError(
            url,
            "give the hub's fingerprint (`cortex client fingerprint` prints it there) behind a # "
            "or as fingerprint=, or the authority that signed its certificate",
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    if tls.authority is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # the fingerprint is checked instead
        return context
    try:
        context.load_verify_locations(tls.authority)
    except (OSError, ssl.SSLError) as error:
        raise UrlError(url, f"the certificates cannot be used: {error}") from None
    return context


def _name_in(shown: bytes) -> str:
    """A name in the certificate: TLS needs one, although the hash is sufficient."""
    from cryptography import x509  # slow to import

    found = x509.load_der_x509_certificate(shown)
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return str(next(iter(names)).value)
    except (x509.ExtensionNotFound, StopIteration):
        common = found.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        return str(common[0].value) if common else ""
