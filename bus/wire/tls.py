"""TLS on both ends: what a hub shows, what a client insists on, before a token is sent."""

import hashlib
import hmac
import ssl
import time
from pathlib import Path

import msgspec

from ..errors import HubUnverifiedError, UrlError
from .pipe import TlsPipe

# OpenSSL's X509_V_FLAG_NO_CHECK_TIME: a client whose certificate has expired gets to hear that.
NO_CHECK_TIME = 0x200000


class ServerTls(msgspec.Struct, frozen=True):
    """What a hub shows to those who dial it, and whose certificates it takes."""

    certificate: Path  # PEM, the chain
    key: Path | None = None  # PEM; None where it stands in the same file
    clients: Path | None = None  # PEM of the authorities whose client certificates are taken
    require: bool = False  # a client without one is not let in


class ClientTls(msgspec.Struct, frozen=True):
    """How a client knows its hub, and what it shows itself."""

    fingerprint: str = ""  # SHA-256 of the hub's certificate
    authority: Path | None = None  # PEM; then the certificate must be for the host's name
    certificate: Path | None = None
    key: Path | None = None


def server_context(tls: ServerTls) -> ssl.SSLContext:
    """A context for a listener.

    Raises:
        UrlError: The files cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(tls.certificate, tls.key)
        if tls.clients is not None:
            context.load_verify_locations(tls.clients)
            context.verify_mode = ssl.CERT_REQUIRED if tls.require else ssl.CERT_OPTIONAL
            context.verify_flags |= ssl.VerifyFlags(NO_CHECK_TIME)
    except (OSError, ssl.SSLError) as error:
        raise UrlError(str(tls.certificate), f"cannot be used for TLS: {error}") from None
    return context


def client_context(url: str, tls: ClientTls) -> ssl.SSLContext:
    """A context for a dialler.

    Raises:
        UrlError: There is nothing to know the hub by, or a file cannot be used.
    """
    if not tls.fingerprint and tls.authority is None:
        raise UrlError(
            url,
            "give the hub's fingerprint (`cortex client fingerprint` prints it there) behind a # "
            "or as fingerprint=, or the authority that signed its certificate",
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls.authority is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # the fingerprint is checked instead
    try:
        if tls.authority is not None:
            context.load_verify_locations(tls.authority)
        if tls.certificate is not None:
            context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise UrlError(url, f"the certificates cannot be used: {error}") from None
    return context


def check_hub(pipe: TlsPipe, url: str, tls: ClientTls) -> None:
    """Refuse a hub that is not the pinned one, before it is told anything.

    Raises:
        HubUnverifiedError: It shows another certificate.
    """
    if not tls.fingerprint:
        return
    shown = hashlib.sha256(pipe.certificate()).hexdigest()
    if not hmac.compare_digest(shown, tls.fingerprint):
        raise HubUnverifiedError(
            url, f"it shows the certificate {shown}, not the pinned {tls.fingerprint}"
        )


def client_certificate(pipe: TlsPipe) -> tuple[str, str]:
    """Fingerprint of the client's certificate, and what is wrong with it; empty for nothing."""
    der = pipe.certificate()
    if not der:
        return "", ""
    fields = pipe.certificate_fields()
    now_s, problem = time.time(), ""
    until, since = str(fields.get("notAfter", "")), str(fields.get("notBefore", ""))
    if until and ssl.cert_time_to_seconds(until) < now_s:
        problem = f"its certificate expired on {until}"
    elif since and ssl.cert_time_to_seconds(since) > now_s:
        problem = f"its certificate is valid only from {since}"
    return hashlib.sha256(der).hexdigest(), problem
