"""The webhook's pure part: what a signed post becomes, and how each wrong one is refused."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus.events import TriggerReceived
from cortex.plugins import PluginRefusedError, folders_in
from cortex.plugins.webhook import (
    Hook,
    PostField,
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
    assert refusal.reason.startswith("the body does not have the expected form: ")


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
        ({"hooks": [{"path": "/a"}, {"path": "/a"}]}, "give each hook its own"),
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


MAPPED = Hook(
    form="json",
    fields={"source": "ci"},
    fields_from={"status": "build.state"},
    inputs={
        "run": "runs[0].url",
        "count": PostField(at="$.count", type="integer"),
        "odd": PostField(at='["a.b"].c', optional=True),
    },
)
POSTED: dict[str, Any] = {
    "build": {"state": "failure"},
    "runs": [{"url": "https://ci/7"}],
    "count": 3,
    "a.b": {"c": "odd"},
}


def test_any_json_becomes_a_trigger_as_its_hook_says() -> None:
    event = taken(msgspec.json.encode(POSTED), MAPPED)

    assert event.fields == {"source": "ci", "status": "failure"}
    assert event.inputs == {"run": "https://ci/7", "count": 3, "odd": "odd"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"runs": []}, "the body has nothing at runs[0].url for 'run'"),
        ({"count": "three"}, "the body has \"three\" at $.count for 'count', expected: integer"),
        ({"count": True}, "has true at $.count for 'count', expected: integer"),
        ({"build": {}}, "the body has nothing at build.state for the field 'status'"),
        ({"build": {"state": [1]}}, "has a list or a map at build.state"),
    ],
)
def test_what_a_post_lacks_or_has_of_another_type_is_named(
    change: dict[str, Any], reason: str
) -> None:
    refusal = refused(msgspec.json.encode({**POSTED, **change}), MAPPED)

    assert refusal.status == HTTPStatus.BAD_REQUEST
    assert refusal.denied
    assert reason in refusal.reason


def test_what_a_hook_calls_optional_may_be_missing() -> None:
    body = {name: value for name, value in POSTED.items() if name != "a.b"}

    assert "odd" not in taken(msgspec.json.encode(body), MAPPED).inputs


@pytest.fixture
def checkouts(tmp_path: Path) -> Path:
    for name in ("checkouts/engine", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "checkouts" / "link").symlink_to(tmp_path / "elsewhere")
    return tmp_path / "checkouts"


def placing(checkouts: Path) -> Hook:
    log = PostField(at="inputs.log", type="path")
    return Hook(inputs={"log": log}, workspace_from="workspace", workspaces=(str(checkouts),))


def naming(workspace: Any, log: Any = "build.log") -> bytes:
    return msgspec.json.encode(
        {"fields": {"source": "ci"}, "inputs": {"log": log}, "workspace": workspace}
    )


@pytest.mark.parametrize("named", ["engine", "{checkouts}/engine", "{checkouts}/x/../engine"])
def test_a_post_names_its_workspace_within_what_its_hook_grants(
    checkouts: Path, named: str
) -> None:
    named = named.format(checkouts=checkouts)

    event = taken(naming(named), placing(checkouts))

    assert event.workspace == str(checkouts / "engine")


@pytest.mark.parametrize(
    "named",
    [
        *("/", "..", "../elsewhere", "{checkouts}/../elsewhere", "{checkouts}2"),
        *("link", "link/..", "\0"),
    ],
)
def test_a_workspace_beyond_them_is_refused_whatever_leads_there(
    checkouts: Path, named: Any
) -> None:
    named = named.format(checkouts=checkouts) if isinstance(named, str) else named

    refusal = refused(naming(named), placing(checkouts))

    assert refusal.status == HTTPStatus.BAD_REQUEST
    assert "in none of the folders that the hook / grants" in refusal.reason


@pytest.mark.parametrize(
    "log", ["../../elsewhere/log", "/etc/passwd", "vendor/../secret", "vendor/x"]
)
def test_a_path_that_a_post_names_is_in_its_workspace(checkouts: Path, log: str) -> None:
    (checkouts.parent / "elsewhere" / "sub").mkdir()
    (checkouts / "engine" / "vendor").symlink_to(checkouts.parent / "elsewhere" / "sub")
    refusal = refused(naming("engine", log), placing(checkouts))

    assert "which is not in the workspace of the hook" in refusal.reason


@pytest.mark.parametrize(
    ("log", "handed"),
    [
        ("build.log", "build.log"),
        ("logs/../new.log", "old/new.log"),  # where its links lead
        ("{checkouts}/engine/logs", "{checkouts}/engine/old/logs"),
        ("missing/../build.log", "build.log"),
    ],
)
def test_the_path_that_was_looked_at_is_the_one_that_is_handed_on(
    checkouts: Path, log: str, handed: str
) -> None:
    (checkouts / "engine" / "old" / "logs").mkdir(parents=True)
    (checkouts / "engine" / "logs").symlink_to("old/logs")

    event = taken(naming("engine", log.format(checkouts=checkouts)), placing(checkouts))

    assert event.inputs == {"log": handed.format(checkouts=checkouts)}


@pytest.mark.parametrize("given", ["/etc/passwd", 7, None])
def test_a_mapped_input_that_a_post_leaves_out_is_taken_from_nowhere_else(given: Any) -> None:
    place = PostField(at="fields.file", type="path", optional=True)
    body = {"fields": {"source": "ci"}, "inputs": {"log": given, "other": 1}}

    event = taken(msgspec.json.encode(body), Hook(inputs={"log": place}, workspace="/srv"))

    assert event.inputs == {"other": 1}


def test_a_post_names_no_workspace_where_its_hook_grants_none() -> None:
    assert "takes no workspace from a post" in refused(naming("/srv")).reason
    assert "nothing at workspace" in refused(BODY, Hook(workspace_from="workspace")).reason


@pytest.mark.parametrize(
    ("hook", "problem"),
    [
        ({"inputs": {"run": "runs[x]"}}, "'runs[x]' is not a place in a body"),
        ({"inputs": {"run": {"at": "runs", "type": "url"}}}, "Invalid enum value"),
        ({"workspace_from": "repository.name"}, "workspace_from takes workspaces"),
        ({"workspaces": ["checkouts"]}, "'checkouts' is not an absolute path"),
        ({"workspace": "/a", "workspace_from": "b", "workspaces": ["/"]}, "not both"),
        ({"form": "json"}, "fields or fields_from say which processes match"),
    ],
)
def test_a_wrong_mapping_is_one_clear_line(hook: dict[str, Any], problem: str) -> None:
    with pytest.raises(PluginRefusedError) as refusal:
        settings_of({"hooks": [hook]})

    assert problem in str(refusal.value)


def test_the_folders_of_all_hooks_bound_what_the_plugin_asks_for() -> None:
    hooks = [{"workspace": "/srv/one"}, {"path": "/two", "workspaces": ["/srv/two"]}]

    assert folders_in({"hooks": hooks}) == ("/srv/two", "/srv/one")
    assert folders_in({"hooks": hooks[:1]}) == ()
