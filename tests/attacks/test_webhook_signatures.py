"""A signed post is good for the hook and the time that it was signed for, and for nothing else."""

from http import HTTPStatus
from pathlib import Path

import pytest

from cortex.plugins import PluginRefusedError
from cortex.plugins.webhook import (
    Hook,
    Refusal,
    Webhook,
    github_signature_of,
    settings_of,
    signature_of,
    trigger_in,
)
from cortex.runtime.kernel import Home, Runtime

KEY = "a secret of the test"
BODY = b'{"fields": {"source": "ci"}}'
NOW_S = 1_700_000_000
SIGNATURE, OLD, DELIVERY = "X-Cortex-Signature", "X-Hub-Signature-256", "X-Cortex-Delivery"


def refused(headers: dict[str, str], *, body: bytes = BODY, hook: str = "/a") -> Refusal:
    with pytest.raises(Refusal) as refusal:
        trigger_in(Hook(path=hook), headers, body, KEY, NOW_S)
    assert refusal.value.status == HTTPStatus.UNAUTHORIZED
    assert "\n" not in refusal.value.reason
    return refusal.value


def test_a_post_for_one_hook_is_refused_at_another_with_the_same_secret() -> None:
    signed = {SIGNATURE: signature_of("/a", BODY, KEY, NOW_S)}

    assert trigger_in(Hook(path="/a"), signed, BODY, KEY, NOW_S).fields == {"source": "ci"}
    assert "does not fit the hook /b" in refused(signed, hook="/b").reason


@pytest.mark.parametrize("away_s", [-301, 301, -NOW_S, 86_400 * 365])
def test_a_post_of_another_time_is_refused(away_s: int) -> None:
    signed = {SIGNATURE: signature_of("/a", BODY, KEY, NOW_S + away_s)}

    assert "more than 300 s from ours" in refused(signed).reason


@pytest.mark.parametrize("away_s", [-300, 0, 300])
def test_a_post_within_the_window_is_taken(away_s: int) -> None:
    signed = {SIGNATURE: signature_of("/a", BODY, KEY, NOW_S + away_s)}

    assert trigger_in(Hook(path="/a"), signed, BODY, KEY, NOW_S)


def test_the_time_cannot_be_set_without_the_secret() -> None:
    old = signature_of("/a", BODY, KEY, NOW_S - 1_000)

    refused({SIGNATURE: old.replace(str(NOW_S - 1_000), str(NOW_S))})


def test_the_delivery_is_signed_and_takes_no_part_of_the_body() -> None:
    body = b"first\n" + BODY
    signed = {SIGNATURE: signature_of("/a", body, KEY, NOW_S)}

    refused({**signed, DELIVERY: "2"}, body=body)
    refused({**signed, DELIVERY: "\nfirst"})


def test_the_form_of_before_is_refused_with_what_to_send() -> None:
    reason = refused({OLD: github_signature_of(BODY, KEY)}).reason

    assert reason == (
        "the header X-Cortex-Signature is missing: sign the hook, the time and the body as the "
        'guide to the webhook says; X-Hub-Signature-256 is for hooks with form = "github"'
    )


@pytest.mark.parametrize("given", ["", "t=1", "v1=ab", "t=1,v1=zz", "é", "t=" + 40 * "9" + ",v1="])
def test_what_is_no_signature_is_refused(given: str) -> None:
    refused({SIGNATURE: given})


def test_hooks_that_share_a_secret_are_refused_by_name_and_by_value(tmp_path: Path) -> None:
    with pytest.raises(PluginRefusedError, match="give each its own secret"):
        settings_of({"hooks": [{"path": "/a"}, {"path": "/b"}]})

    home = Home.create(tmp_path / ".cortex")
    folder = home.path / "keys" / "secrets"
    folder.mkdir()
    for name in ("ONE", "TWO"):
        (folder / name).write_text(KEY)
        (folder / name).chmod(0o600)
    hooks = [{"path": "/a", "secret": "ONE"}, {"path": "/b", "secret": "TWO"}]
    with Runtime(components=[]) as runtime:
        made = Webhook(home, {"listen": "127.0.0.1:0", "hooks": hooks}, runtime.client("w").publish)

        with pytest.raises(PluginRefusedError, match="are the same"):
            made.on_start()
