"""A web hook is https, or on this host; what is posted is signed as receivers check it."""

import hashlib
import hmac

import pytest

from cortex.runtime.code.repair import HookRefusedError, hook_secret, hook_signature, hook_url


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.org/T0/B0",
        "https://hooks.example.org:8443/x?y=1",
        "http://127.0.0.1:8080/x",
        "http://[::1]:8080/x",
        "http://localhost/x",
    ],
)
def test_an_address_that_is_safe_is_taken(url: str) -> None:
    assert hook_url(url).whole == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://hooks.example.org/x", "hooks.example.org is not https"),
        ("http://127.0.0.1.example.org/", "is not https"),
        ("http://192.168.0.1/", "is not https"),
        ("file:///etc/passwd", "not a URL"),
        ("ftp://example.org/", "is not https"),
        ("https://", "not a URL"),
        ("hooks.example.org", "not a URL"),
        ("https://ada:hunter2@example.org/", "holds a password"),
        ("https://example.org/\r\nX: y", "not a URL"),
        ("https://example.org:99999/", "not a URL"),
        ("https://[::1/", "not a URL"),
        ("https://exämple.org/", "not a URL"),
    ],
)
def test_any_other_address_is_refused_without_its_secrets(url: str, reason: str) -> None:
    with pytest.raises(HookRefusedError, match=reason) as raised:
        hook_url(url)

    assert "hunter2" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_address_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "https://example.org/secret")

    assert hook_url("", "HOOK").host == "example.org"


def test_what_is_not_in_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK", raising=False)

    with pytest.raises(HookRefusedError, match="variable HOOK is not set"):
        hook_url("", "HOOK")
    with pytest.raises(HookRefusedError, match="variable HOOK is not set"):
        hook_secret("HOOK")


def test_the_signature_is_the_hmac_of_the_body() -> None:
    wanted = hmac.new(b"s3cret", b'{"a":1}', hashlib.sha256).hexdigest()

    assert hook_signature(b'{"a":1}', b"s3cret") == f"sha256={wanted}"
