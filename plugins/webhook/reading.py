"""From a signed post to a trigger: pure, so that every answer can be tested without a socket."""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct

from cortex.bus.events import TriggerReceived

from .places import is_of, path_in, value_at, workspace_in
from .settings import Hook, PostField

SIGNATURE = "X-Cortex-Signature"  # "t=", the time, ",v1=" and the HMAC in hex
DELIVERY = "X-Cortex-Delivery"  # an id that is signed, too; it may be left out
FROM_GITHUB = "X-Hub-Signature-256"  # "sha256=" and the HMAC of the body, in hex
GITHUB_DELIVERY = "X-GitHub-Delivery"
KIND = "X-GitHub-Event"
LONGEST_DELIVERY = 200  # characters
SHOWN_CHARS = 80  # of a value of a body, in a reason
WINDOW_S = 300  # how far the time in a signature may be from ours
_DELIVERY = re.compile(r"[!-~]{0,200}")  # no line break, which would move what is signed
_SIGNED = re.compile(r"t=(\d{1,12}),v1=([0-9a-f]{64})")


class Refusal(Exception):  # noqa: N818  # an answer, which may be "nothing to do"
    """Why a post sets nothing going, and what it is answered."""

    def __init__(self, status: HTTPStatus, reason: str, *, denied: bool = True) -> None:
        super().__init__(status, reason, denied)
        self.status, self.reason = status, reason
        self.denied = denied  # False: nothing is wrong with it


class Plain(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a post in Cortex's own form."""

    fields: dict[str, str | int | float | bool]
    inputs: dict[str, Any] = {}
    goal: str = ""
    workspace: str = ""  # set if the hook has `workspace_from`


def trigger_in(
    hook: Hook, headers: Mapping[str, str], body: bytes, key: str, now_s: int
) -> TriggerReceived:
    """The trigger for a post; a repeated post gives the same `trigger_id`.

    Args:
        hook: The hook that the post was sent to.
        headers: By name, in any case.
        body: As received.
        key: The secret that signs posts to this hook.
        now_s: The time, in seconds since 1970.

    Raises:
        Refusal: The signature is wrong or missing, the body does not match the hook's form, or
            there is nothing to do.
    """
    headers = {name.lower(): value for name, value in headers.items()}
    github = hook.form == "github"
    delivery = headers.get((GITHUB_DELIVERY if github else DELIVERY).lower(), "")
    if github:
        _verify_github(headers.get(FROM_GITHUB.lower(), ""), body, key)
    else:
        _verify(headers, hook.path, delivery, body, key, now_s)
    # It is signed, so every error from here on is the sender's mistake.
    trigger_id = _trigger_id(hook, delivery, body)
    payload, said = _content(hook, headers.get(KIND.lower(), ""), body)
    if said.workspace and not hook.workspace_from:
        raise Refusal(
            HTTPStatus.BAD_REQUEST,
            f"the hook {hook.path} takes no workspace from a post: `workspace_from` and "
            "`workspaces` in its table allow that",
        )
    workspace = _workspace(hook, payload) if hook.workspace_from else hook.workspace
    # What a hook maps comes from its place in the body alone, and was looked at there.
    own = {name: value for name, value in said.inputs.items() if name not in hook.inputs}
    return TriggerReceived(
        trigger_id=trigger_id,
        fields={**said.fields, **_fields(hook.fields_from, payload), **hook.fields},
        inputs={**own, **_inputs(hook, payload, workspace)},
        goal=said.goal,
        workspace=workspace,
    )


def _content(hook: Hook, kind: str, body: bytes) -> tuple[Any, Plain]:
    """The decoded body, and what it says by the form of the hook alone."""
    try:
        payload = msgspec.json.decode(body)
        if hook.form == "plain":
            return payload, msgspec.convert(payload, Plain)
        if hook.form == "json":
            return payload, Plain(fields={})
        return payload, _github(kind, payload)
    # Bytes that are not UTF-8, and endless nesting, raise no DecodeError.
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(
            HTTPStatus.BAD_REQUEST, f"the body does not have the expected form: {error}"
        ) from None


def signature_of(hook: str, body: bytes, key: str, time_s: int, delivery: str = "") -> str:
    """The required header `X-Cortex-Signature` of a post.

    Args:
        hook: The path of the hook as config.toml has it; a signature is valid for no other.
        body: As sent.
        key: The hook's secret.
        time_s: The time, in seconds since 1970.
        delivery: The header `X-Cortex-Delivery`, "" if there is none.
    """
    signed = f"cortex-webhook-v1\n{hook}\n{time_s}\n{delivery}\n".encode(errors="replace") + body
    return f"t={time_s},v1={hmac.new(key.encode(), signed, hashlib.sha256).hexdigest()}"


def github_signature_of(body: bytes, key: str) -> str:
    """What the header `X-Hub-Signature-256` of *body* has to be."""
    return "sha256=" + hmac.new(key.encode(), body, hashlib.sha256).hexdigest()


def _verify(
    headers: Mapping[str, str], hook: str, delivery: str, body: bytes, key: str, now_s: int
) -> None:
    given = headers.get(SIGNATURE.lower(), "")
    if not _DELIVERY.fullmatch(delivery):
        raise Refusal(HTTPStatus.UNAUTHORIZED, f"the header {DELIVERY} is not one word of ASCII")
    matched = _SIGNED.fullmatch(given) if given.isascii() else None
    if matched is None:
        what = f"is not `t=TIME,v1=HMAC` for the hook {hook}" if given else "is missing"
        older = f'; {FROM_GITHUB} is for hooks with form = "github"' if not given else ""
        raise Refusal(
            HTTPStatus.UNAUTHORIZED,
            f"the header {SIGNATURE} {what}: sign the hook, the time and the body as the guide to "
            f"the webhook says{older}",
        )
    time_s = int(matched[1])
    if not hmac.compare_digest(given, signature_of(hook, body, key, time_s, delivery)):
        raise Refusal(
            HTTPStatus.UNAUTHORIZED,
            f"the header {SIGNATURE} does not fit the hook {hook}, its time and the body",
        )
    if abs(now_s - time_s) > WINDOW_S:  # signed, so the answer may say whose clock is wrong
        raise Refusal(
            HTTPStatus.UNAUTHORIZED,
            f"the time in {SIGNATURE} is more than {WINDOW_S} s from ours: sign again, or set the "
            "clock",
        )


def _verify_github(given: str, body: bytes, key: str) -> None:
    if not given:
        raise Refusal(HTTPStatus.UNAUTHORIZED, f"the header {FROM_GITHUB} is missing")
    # As bytes: text that is not ASCII cannot be compared in constant time.
    expected = github_signature_of(body, key).encode()
    if not hmac.compare_digest(given.encode(errors="replace"), expected):
        raise Refusal(HTTPStatus.UNAUTHORIZED, f"the header {FROM_GITHUB} does not fit the body")


def _trigger_id(hook: Hook, delivery: str, body: bytes) -> str:
    # GitHub's signature covers only the body: an eavesdropper could resend it under another id.
    what = hashlib.sha256(body).hexdigest()
    if hook.unique == "delivery":
        named = GITHUB_DELIVERY if hook.form == "github" else DELIVERY
        if not delivery or len(delivery) > LONGEST_DELIVERY:
            raise Refusal(HTTPStatus.BAD_REQUEST, f"the header {named} is missing or too long")
        what = delivery
    digest = hashlib.sha256(f"{hook.path}\n{hook.unique}\n{what}".encode()).digest()
    return base64.b32encode(digest[:10]).decode().lower()


def _github(kind: str, payload: Any) -> Plain:
    """The trigger of a finished CI run; other events are accepted and start nothing."""
    if kind != "workflow_run" or not isinstance(payload, dict):
        raise Refusal(HTTPStatus.OK, f"nothing to do for {kind or 'no event'!s}"[:80], denied=False)
    if payload.get("action") != "completed":
        raise Refusal(HTTPStatus.OK, "nothing to do before the run is completed", denied=False)
    run = msgspec.convert(payload.get("workflow_run"), Run)
    repository = msgspec.convert(payload.get("repository"), Repository)
    return Plain(
        fields={
            "source": "ci",
            "status": run.conclusion,
            "provider": "github",
            "repository": repository.full_name,
            "workflow": run.name,
            "branch": run.head_branch,
        }
    )


class Run(Struct, frozen=True):
    """What is read of GitHub's `workflow_run`."""

    conclusion: str  # "success", "failure", "cancelled", ...
    name: str = ""
    head_branch: str = ""


class Repository(Struct, frozen=True):
    """What is read of GitHub's `repository`."""

    full_name: str


def _fields(places: Mapping[str, str], payload: Any) -> dict[str, Any]:
    """The fields that a hook takes from the body, which processes match."""
    found: dict[str, Any] = {}
    for name, at in places.items():
        value = value_at(payload, at)
        if not isinstance(value, str | int | float | bool):
            what = "nothing" if value is None else "a list or a map"
            raise Refusal(
                HTTPStatus.BAD_REQUEST,
                f"the body has {what} at {at} for the field {name!r}: a text, a number, true or "
                "false is expected",
            )
        found[name] = value
    return found


def _inputs(hook: Hook, payload: Any, workspace: str) -> dict[str, Any]:
    """The inputs that a hook takes from the body, by name, with its declared types."""
    found: dict[str, Any] = {}
    for name, said in hook.inputs.items():
        place = PostField(at=said) if isinstance(said, str) else said
        value = value_at(payload, place.at)
        if value is None:
            if place.optional:
                continue
            reason = f"the body has nothing at {place.at} for {name!r}"
            raise Refusal(HTTPStatus.BAD_REQUEST, reason)
        if not is_of(value, place.type):
            raise Refusal(
                HTTPStatus.BAD_REQUEST,
                f"the body has {_shown(value)} at {place.at} for {name!r}, expected: {place.type}",
            )
        found[name] = value if place.type != "path" else path_in(value, workspace)
        if place.type == "path" and not found[name]:
            raise Refusal(
                HTTPStatus.BAD_REQUEST,
                f"the body has {_shown(value)} at {place.at} for {name!r}, which is not in the "
                "workspace of the hook",
            )
    return found


def _workspace(hook: Hook, payload: Any) -> str:
    """The folder that a post names."""
    at = hook.workspace_from
    value = value_at(payload, at)
    if value is None or value == "":
        raise Refusal(HTTPStatus.BAD_REQUEST, f"the body has nothing at {at} for the workspace")
    folder = workspace_in(value, hook.workspaces) if isinstance(value, str) else ""
    if not folder:
        raise Refusal(
            HTTPStatus.BAD_REQUEST,
            f"the body has {_shown(value)} at {at} for the workspace, which is in none of the "
            f"folders that the hook {hook.path} grants",
        )
    return folder


def _shown(value: Any) -> str:
    """What a post said, as a reason repeats it."""
    return msgspec.json.encode(value).decode()[:SHOWN_CHARS]
