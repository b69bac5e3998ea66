"""Posting to a web hook: checked address, signed body, no redirects, one line when it fails."""

import hashlib
import hmac
import http.client
import os
import urllib.error
import urllib.parse
import urllib.request
from typing import IO, NoReturn

import msgspec

from cortex.bus.wire import is_loopback
from cortex.runtime.secrets import SecretUnavailableError, place_of, secret_value

from .errors import HookFailedError, HookRefusedError

SIGNATURE = "X-Cortex-Signature-256"


class Url(msgspec.Struct, frozen=True):
    """A checked address."""

    whole: str
    host: str
    here: bool  # on this host


def hook_url(given: str, variable: str = "") -> Url:
    """The address that is *given*, or stands in an environment variable.

    Raises:
        HookRefusedError: There is none, or it is none that is posted to.
    """
    text = given or _secret(variable)
    if not text:
        raise HookRefusedError(f"{place_of(variable)} is not set: set it to a URL")
    try:
        parts = urllib.parse.urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise HookRefusedError("the web hook is no URL") from None
    if any(ord(c) <= 32 or ord(c) == 127 for c in text) or not text.isascii() or not host:
        raise HookRefusedError("the web hook is no URL: expected https://host/path")
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
    """The value of the header that says who sent *body*."""
    return f"sha256={hmac.new(secret, body, hashlib.sha256).hexdigest()}"


def post_hook(url: Url, body: bytes, key: str, secret: bytes | None, timeout_s: float) -> int:
    """Post *body* as JSON and give the status of the answer.

    Raises:
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
    handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
    if url.here:
        handlers.append(urllib.request.ProxyHandler({}))  # what stays here passes no proxy
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout_s) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            raise HookFailedError(f"{url.host} answered {error.code}{_why(error.code)}") from None
    except urllib.error.URLError as error:
        raise HookFailedError(f"{url.host} was not reached: {_reason(error.reason)}") from None
    except (OSError, http.client.HTTPException) as error:
        raise HookFailedError(f"{url.host} did not answer: {_reason(error)}") from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """What is signed for one receiver goes to no other."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> NoReturn:
        raise urllib.error.HTTPError(req.full_url, code, msg, headers, fp)


def _why(code: int) -> str:
    return ", and redirects are not followed" if 300 <= code < 400 else ""


def _reason(reason: object) -> str:
    if isinstance(reason, TimeoutError):
        return "it took too long"
    said = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return " ".join(str(said).split())[:200]
