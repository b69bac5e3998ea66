"""The webhook's pure part: what a signed post becomes, and how each wrong one is refused."""

from http import HTTPStatus
from typing import Any

import msgspec
import pytest

from cortex.bus.events import TriggerReceived
from cortex.plugins import PluginRefusedError
from cortex.plugins.webhook import (
    Hook,
    Refusal,
    github_signature_of,
    settings_of,
    signature_of,
    trigger_in,
)

KEY = "a secret of the test"
NOW_S = 1_700_000_000
BODY = b'{"fields": {"source": "ci", "status": "failure"}, "inputs": {"log": "/tmp/build.log"}}'
RUN = msgspec.json.encode(
    {
        "action": "completed",
        "workflow_run": {
            "conclusion": "failure",
            "name": "tests",
            "head_branch": "main",
            "head_sha": "c0ffee",
            "html_url": "https://github.com/ada/engine/actions/runs/7",
        },
        "repository": {"full_name": "ada/engine"},
    }
)


def taken(body: bytes, hook: Hook | None = None, **headers: str) -> TriggerReceived:
    hook = hook or Hook()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if hook.form == "github":
        signed = {"X-Hub-Signature-256": github_signature_of(body, KEY)}
    else:
        delivery = named.get("X-Cortex-Delivery", "")
        signed = {"X-Cortex-Signature": signature_of(hook.path, body, KEY, NOW_S, delivery)}
    return trigger_in(hook, {**signed, **named}, body, KEY, NOW_S)


def refused(body: bytes, hook: Hook | None = None, **headers: str) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        taken(body, hook, **headers)
    return refusal.value


def test_a_signed_post_is_a_trigger_with_fields_and_inputs() -> None:
    event = taken(BODY)

    assert event.fields == {"source": "ci", "status": "failure"}
    assert event.inputs == {"log": "/tmp/build.log"}
    assert len(event.trigger_id) == 16


def test_the_signature_is_githubs() -> None:
    # The example of GitHub's own documentation.
    told = github_signature_of(b"Hello, World!", "It's a Secret to Everybody")

    assert told == "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


@pytest.mark.parametrize(
    "signature",
    ["", "sha256=", "sha256=" + 64 * "0", "sha1=ab", "é", github_signature_of(BODY, "x")],
)
def test_a_wrong_signature_is_refused_before_the_body_is_read(signature: str) -> None:
    refusal = refused(b"{not even JSON" + BODY, Hook(form="github"), X_Hub_Signature_256=signature)

    assert refusal.status == HTTPStatus.UNAUTHORIZED
    assert "X-Hub-Signature-256" in refusal.reason


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b'{"fields": 1}', b'{"inputs": {}}', b'{"fields":{},"x":1}'),
        b'{"fields": {"n": "\xff"}}',
        b'{"fields": {}, "inputs": {"n": ' + 50_000 * b"[" + 50_000 * b"]" + b"}}",
    ],
    ids=range(9),
)
def test_a_signed_body_that_is_not_what_is_expected_is_named_so(body: bytes) -> None:
    refusal = refused(body)

    assert refusal.status == HTTPStatus.BAD_REQUEST
    assert refusal.reason.startswith("the body is not what is expected: ")


def test_the_same_body_is_the_same_trigger_whatever_its_delivery_says() -> None:
    assert taken(BODY, X_Cortex_Delivery="1").trigger_id == taken(BODY).trigger_id
    assert taken(BODY).trigger_id != taken(BODY + b" ").trigger_id


def test_a_hook_may_tell_posts_apart_by_their_delivery() -> None:
    hook = Hook(unique="delivery")

    first, again, second = (taken(BODY, hook, X_Cortex_Delivery=name) for name in "112")

    assert first.trigger_id == again.trigger_id != second.trigger_id
    assert refused(BODY, hook).status == HTTPStatus.BAD_REQUEST


def test_a_failed_workflow_run_of_github_is_a_ci_failure() -> None:
    hook = Hook(
        form="github",
        inputs={"commit": "workflow_run.head_sha"},
        fields={"team": "core"},
        workspace="/srv/engine",
    )

    event = taken(RUN, hook, X_GitHub_Event="workflow_run")

    assert event.fields == {
        "source": "ci",
        "status": "failure",
        "provider": "github",
        "repository": "ada/engine",
        "workflow": "tests",
        "branch": "main",
        "team": "core",
    }
    assert event.inputs == {"commit": "c0ffee"}
    assert event.workspace == "/srv/engine"


@pytest.mark.parametrize(
    ("kind", "body"),
    [("ping", b'{"zen": "x"}'), ("push", RUN), ("workflow_run", b'{"action": "requested"}')],
)
def test_what_github_says_beside_that_is_taken_and_sets_nothing_going(
    kind: str, body: bytes
) -> None:
    refusal = refused(body, Hook(form="github"), X_GitHub_Event=kind)

    assert refusal.status == HTTPStatus.OK
    assert not refusal.denied


def test_an_input_that_the_body_lacks_is_named() -> None:
    refusal = refused(BODY, Hook(inputs={"commit": "run.sha"}))

    assert refusal.status == HTTPStatus.BAD_REQUEST
    assert refusal.reason == "the body has nothing at run.sha for 'commit'"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"listn": "x"}, "unknown field `listn`"),
        ({"listen": "8787"}, "write '127.0.0.1:8787'"),
        ({"listen": "localhost:99999"}, "write '127.0.0.1:8787'"),
        ({"hooks": [{"path": "github"}]}, "starting with /"),
        ({"hooks": [{"path": "/a"}, {"path": "/a"}]}, "one of its own"),
        ({"hooks": [{"key": "hunter2"}]}, "unknown field `key`"),
        ({"hooks": [{"path": "/a"}, {"path": "/b"}]}, "share CORTEX_WEBHOOK_SECRET: give each"),
        ({"body_bytes": 0}, "body_bytes is 0"),
        ({"patience_s": 0}, "patience_s is 0"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(PluginRefusedError, match=r"^\[plugins.webhook\] in config.toml: ") as error:
        settings_of(values)

    assert problem in str(error.value)
