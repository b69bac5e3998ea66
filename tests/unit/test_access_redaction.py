"""No token, key or secret is in what is logged or recorded."""

import io
from importlib import import_module
from typing import Any

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.access import new_token
from cortex.runtime.secrets import HIDDEN, Redactor, redacted

STEADY = settings(max_examples=60, deadline=None, derandomize=True)
WORDS = st.text(st.sampled_from("ab :=\"',;@/\n-_.{}[]"), max_size=40)
SECRET = st.text(st.sampled_from("abcXYZ0189+/=_-.$"), min_size=6, max_size=40)
NAMES = ("token", "api_key", "apikey", "API-KEY", "Secret", "password", "Authorization")


@STEADY
@given(WORDS, WORDS)
def test_a_token_of_ours_is_hidden_wherever_it_stands(before: str, after: str) -> None:
    token = new_token()

    said = redacted(f"{before}{token} {after}")

    assert token not in said
    assert token[7:] not in said


@STEADY
@given(st.sampled_from(NAMES), st.sampled_from(["=", ": ", '": "', " = '"]), SECRET, WORDS)
def test_what_is_called_a_secret_is_hidden(name: str, sign: str, value: str, after: str) -> None:
    said = redacted(f"x {name}{sign}{value}\n{after}")

    assert value not in said.partition("\n")[0]
    assert name in said


@STEADY
@given(SECRET, WORDS, WORDS)
def test_what_is_known_to_be_secret_is_hidden(secret: str, before: str, after: str) -> None:
    said = Redactor([secret]).text(before + secret + after)

    assert secret not in said.replace(HIDDEN, "\0")


@STEADY
@given(st.text(max_size=200))
def test_hiding_twice_changes_nothing_more(text: str) -> None:
    once = redacted(text)

    assert redacted(once) == once


@STEADY
@given(st.text(st.sampled_from("abcdefgh ."), max_size=200))
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnop1234",
        "sk-ant-api03-abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghijklmnop",
        "glpat-abcdefghij0123456789",
        "xoxb-123456789012-abcdefghijkl",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIB\n-----END EC PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMHcCAQEEIB and it was cut off",
    ],
)
def test_keys_of_others_are_known_by_their_shape(secret: str) -> None:
    assert redacted(f"failed with {secret}") == f"failed with {HIDDEN}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("https://ann:hunter2@host/path", f"https://ann:{HIDDEN}@host/path"),
        ("Authorization: Bearer abcdefghijklmnop.q", f"Authorization: Bearer {HIDDEN}"),
        ('{"password": "correct horse battery"}', f'{{"password": {HIDDEN}}}'),
        ("token_sha256=" + "a" * 64, "token_sha256=" + "a" * 64),
        ("used 1500 tokens: 300 in, 1200 out", "used 1500 tokens: 300 in, 1200 out"),
        ("max_tokens=1500", "max_tokens=1500"),
        ("the bearer of bad news came late", "the bearer of bad news came late"),
    ],
)
def test_what_stands_around_a_secret_stays(text: str, said: str) -> None:
    assert redacted(text) == said


def test_a_field_that_is_called_a_secret_is_hidden_whatever_is_in_it() -> None:
    said = Redactor().value(
        {"token": "abc", "owner_token": b"x", "nested": [{"Password": "p q r"}], "tokens": 12}
    )

    assert said == {
        "token": HIDDEN,
        "owner_token": HIDDEN,
        "nested": [{"Password": HIDDEN}],
        "tokens": 12,
    }


def values(secret: str) -> st.SearchStrategy[Any]:
    leaf = st.just(secret) | st.just(secret.encode()) | st.just(ValueError(secret)) | st.integers()
    return st.recursive(
        leaf,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["a", "b", secret]), inner, max_size=3)
            | st.tuples(inner)
        ),
        max_leaves=8,
    )


@STEADY
@given(values("cortex_" + "s" * 43))
def test_no_value_of_a_log_line_keeps_a_token(value: Any) -> None:
    said = Redactor()(None, "warning", {"event": "happened", "value": value})

    assert "sssssss" not in repr(said)


def test_a_log_line_with_an_exception_has_no_secret_in_it() -> None:
    token, written = new_token(), io.StringIO()
    log = structlog.wrap_logger(
        structlog.PrintLogger(written),
        processors=[Redactor(["known-secret"]), structlog.dev.ConsoleRenderer(colors=False)],
    )
    try:
        raise ValueError(f"cannot use {token} with known-secret")
    except ValueError:
        log.warning("connect_failed", exc_info=True, token=token, url=f"https://a:{token}@h")

    said = written.getvalue()
    assert "connect_failed" in said
    assert "ValueError" in said
    assert token not in said
    assert "known-secret" not in said


def test_what_a_component_failed_with_is_recorded_without_secrets() -> None:
    told = import_module("cortex.runtime.kernel.hosts.host").told
    token = new_token()

    said = told(ValueError(f"cannot use {token} at https://a:hunter22@host"))

    assert said == f"ValueError: cannot use {HIDDEN} at https://a:{HIDDEN}@host"


@pytest.mark.parametrize(
    ("module", "function"),
    [("kernel.logs", "configure_unless_done"), ("sessions.ailments", "listen")],
)
def test_the_runtimes_own_log_lines_are_redacted(module: str, function: str) -> None:
    before = structlog.get_config() if structlog.is_configured() else None
    structlog.reset_defaults()
    try:
        getattr(import_module(f"cortex.runtime.{module}"), function)()
        processors = structlog.get_config()["processors"]
    finally:
        structlog.reset_defaults()
        if before is not None:
            structlog.configure(**before)

    assert any(isinstance(each, Redactor) for each in processors)


@pytest.mark.parametrize(
    "piece",
    ["-----BEGIN PRIVATE KEY-----", "eyJ", "sk-", "cortex_", "token=", "bearer ", "://a:", "-", "'",
     "password: '", "eyJaaaaaaaa.", "token\t\t\t\t", "://" + "a" * 200, "-----BEGIN AAAAAAAAAA"],
)  # fmt: skip
def test_a_hostile_text_takes_no_longer_than_another(piece: str) -> None:
    # A pattern that goes back over what it read would be at this for hours.
    text = piece * (500_000 // len(piece))

    assert len(redacted(text)) <= 8 * len(text)
