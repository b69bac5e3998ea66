"""Posts to a web hook: checked address, signed body, no redirects, one line on failure."""

import hashlib
import hmac
import http.client
import os
import threading
import urllib.error
import urllib.parse
import urllib.request
from functools import partial
from typing import IO, Any, NoReturn

import msgspec

from cortex.bus.wire import is_loopback
from cortex.runtime.secrets import SecretUnavailableError, place_of, secret_value

from .errors import HookFailedError, HookRefusedError, HookUnansweredError

SIGNATURE = "X-Cortex-Signature-256"


class Url(msgspec.Struct, frozen=True):
    """A checked address."""

    whole: str
    host: str
    here: bool  # on this host


def hook_url(given: str, variable: str = "") -> Url:
    """The address that is *given*, or in an environment variable.

    Raises:
        HookRefusedError: There is none, or posting to it is not allowed.
    """
    text = given or _secret(variable)
    if not text:
        raise HookRefusedError(f"{place_of(variable)} is not set: set it to a URL")
    try:
        parts = urllib.parse.urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise HookRefusedError("the web hook is not a URL") from None
    if any(ord(c) <= 32 or ord(c) == 127 for c in text) or not text.isascii() or not host:
        raise HookRefusedError("the web hook is not a URL: expected https://host/path")
    if parts.username is not None or parts.password is not None:
        raise HookRefusedError("the web hook holds a password: sign with `secret_env` instead")
    here = is_loopback(host)
    if parts.scheme != "https" and not (parts.scheme == "http" and here):
        raise HookRefusedError(
            f"the web hook at {host} is not https: http is for this host alone (127.0.0.1)"
        )
    return Url(text, host, here)


def hook_secret(variable: str) -> bytes:
    """What signs.

    Raises:
        HookRefusedError: The environment variable is not set.
    """
    secret = _secret(variable)
    if not secret:
        raise HookRefusedError(f"{place_of(variable)} is not set: it has to sign")
    return os.fsencode(secret)


def _secret(reference: str) -> str:
    try:
        return secret_value(reference)
    except SecretUnavailableError as error:
        raise HookRefusedError(str(error)) from None


def hook_signature(body: bytes, secret: bytes) -> str:
    """The value of the header that signs *body*."""
    return f"sha256={hmac.new(secret, body, hashlib.sha256).hexdigest()}"


def post_hook(url: Url, body: bytes, key: str, secret: bytes | None, timeout_s: float) -> int:
    """Post *body* as JSON and give the status of the answer.

    Raises:
        HookUnansweredError: It may have taken the post, and did not answer.
        HookFailedError: It was not reached, or did not answer with success.
    """
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": key,
        "User-Agent": "cortex",
    }
    if secret is not None:
        headers[SIGNATURE] = hook_signature(body, secret)
    request = urllib.request.Request(  # noqa: S310  # `hook_url` lets pass http and https alone
        url.whole, data=body, headers=headers, method="POST"
    )
    met = threading.Event()  # there is a connection, so that something may have arrived
    handlers: list[urllib.request.BaseHandler] = [_NoRedirects(), _Http(met), _Https(met)]
    if url.here:
        handlers.append(urllib.request.ProxyHandler({}))  # what stays here passes no proxy
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout_s) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            raise HookFailedError(f"{url.host} answered {error.code}{_why(error.code)}") from None
    except (OSError, http.client.HTTPException) as error:
        reason = _reason(error.reason if isinstance(error, urllib.error.URLError) else error)
        if met.is_set():
            raise HookUnansweredError(f"{url.host} did not answer: {reason}") from None
        raise HookFailedError(f"{url.host} was not reached: {reason}") from None


class _Plain(http.client.HTTPConnection):
    """A connection that reports when it is established, through a proxy or not."""

    def __init__(self, *args: Any, met: threading.Event, **more: Any) -> None:
        super().__init__(*args, **more)
        self._met = met

    def connect(self) -> None:
        super().connect()
        self._met.set()


class _Secure(_Plain, http.client.HTTPSConnection):
    """The same over TLS, after its handshake."""


class _Http(urllib.request.HTTPHandler):
    def __init__(self, met: threading.Event) -> None:
        super().__init__()
        self._connection = partial(_Plain, met=met)

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, met: threading.Event) -> None:
        super().__init__()
        self._connection = partial(_Secure, met=met)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, req)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """What is signed for one receiver goes to no other."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,  # noqa: ARG002  # urllib gives it by position
    ) -> NoReturn:
        raise urllib.error.HTTPError(req.full_url, code, msg, headers, fp)


def _why(code: int) -> str:
    return ", and redirects are not followed" if 300 <= code < 400 else ""


def _reason(reason: object) -> str:
    if isinstance(reason, TimeoutError):
        return "it took too long"
    said = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return " ".join(str(said).split())[:200]
