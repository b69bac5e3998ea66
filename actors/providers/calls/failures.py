"""Failures of a call to a model: their kinds, from what an SDK or an endpoint says."""

import email.utils
import math
import re
from collections.abc import Mapping
from typing import Any, cast

from cortex.bus import CortexError
from cortex.runtime.secrets import Mask

LONGEST_SAYING = 300  # characters of an endpoint's own words
# Accounts and requests of a vendor's.
_IDS = re.compile(r"\b(?:org|proj|user|req|acct|key|sk)[-_][\w-]{6,}")
WINDOW = 12  # characters: as many in a row of prompt or key are not said again
# By the type that endpoints give their errors; it counts where the status is 200 or missing.
_KINDS = {
    "overloaded_error": "overloaded",
    "api_error": "overloaded",
    "server_error": "overloaded",
    "internal_server_error": "overloaded",
    "timeout_error": "overloaded",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "authentication_error": "unauthorised",
    "permission_error": "unauthorised",
    "not_found_error": "missing",
}
_MEANS = {
    "rate_limited": "the endpoint takes no more requests for now",
    "overloaded": "the endpoint cannot answer for now",
    "unauthorised": "the endpoint refuses the key",
    "missing": "the endpoint has no such model, or base_url leads elsewhere",
    "failed": "the endpoint refuses the request",
}
_NO_CREDIT = {"insufficient_quota", "billing_error", "billing_hard_limit_reached"}
SHORTEST_KEY = 4  # characters; a shorter one would stand in every other word


class CallFailedError(CortexError):
    """There is no answer; the kind says whether asking again may help.

    The message holds no key, header, address or part of a prompt: it is recorded, and later
    attempts see it. An endpoint whose answer no honest one would be is `hostile`: it is not asked
    again, whatever the kind.
    """

    def __init__(
        self,
        kind: str,
        problem: str,
        retry_after_s: float | None = None,
        *,
        hostile: bool = False,
    ) -> None:
        super().__init__(kind, problem, retry_after_s)
        self.kind, self.problem, self.retry_after_s = kind, problem, retry_after_s
        self.hostile = hostile

    def __str__(self) -> str:
        return self.problem


def failure_of(
    error: Exception, *, begun: bool, prompt: str = "", key: str = ""
) -> CallFailedError:
    """What *error* means: of an SDK, of its transport, or of reading what came.

    Args:
        error: What was raised.
        begun: Whether some of the answer had come.
        prompt: Nothing of it may stand in the message.
        key: Nor of this.
    """
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        body = getattr(error, "body", None)
        headers = getattr(getattr(error, "response", None), "headers", {})
        return of_status(status, body, headers, prompt=prompt, key=key)
    if isinstance(error, RecursionError):
        problem = "the endpoint answered with values in values without an end"
        return CallFailedError("garbage", problem, hostile=True)
    if isinstance(error, ValueError):
        return CallFailedError(
            "garbage", "the endpoint answered with something other than the expected JSON"
        )
    if begun:
        return CallFailedError("cut_off", "the connection broke off in the middle of the answer")
    return CallFailedError(
        "unreachable", "no server answers at its base_url: start the server, or correct config.toml"
    )


def of_status(
    status: int, body: Any, headers: Mapping[str, str], *, prompt: str = "", key: str = ""
) -> CallFailedError:
    """What an answer with another status than 200 means."""
    kind, code = _kind_of_status(status), _type_of(body)
    if code in _NO_CREDIT:
        return CallFailedError("failed", "the account at the endpoint has no credit left")
    if 300 <= status < 400:
        return CallFailedError(
            "failed",
            f"the endpoint is elsewhere ({status}), and no prompt is sent after a redirect: "
            "correct base_url in config.toml",
        )
    says = "" if kind == "unauthorised" else _saying(body, prompt, key)
    wait_s = retry_after_s(headers) if kind in ("rate_limited", "overloaded") else None
    return CallFailedError(kind, f"{_MEANS[kind]} ({status}){says}", wait_s)


def failure_of_frame(body: Any) -> CallFailedError:
    """What an error inside a stream means; its own words are left out, as prompts may be there."""
    kind = _KINDS.get(_type_of(body), "failed")
    return CallFailedError(kind, f"{_MEANS[kind]}, as it says in the middle of the answer")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long the endpoint asks to wait: seconds, milliseconds, or a date beside its own."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1_000
    said = headers.get("retry-after")
    seconds = _number(said)
    if seconds is not None or said is None:
        return seconds
    try:
        until = email.utils.parsedate_to_datetime(said)
        now = email.utils.parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError):
        return None


def _kind_of_status(status: int) -> str:
    if status in (401, 403):
        return "unauthorised"
    if status == 404:
        return "missing"
    if status == 429:
        return "rate_limited"
    return "overloaded" if status in (408, 409, 425) or status >= 500 else "failed"


def _number(said: str | None) -> float | None:
    try:
        number = float(said or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _error_in(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        return {}
    inner: Any = cast("dict[str, Any]", body).get("error", body)
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else {"message": inner}


def _type_of(body: Any) -> str:
    error = _error_in(body)
    for name in (error.get("code"), error.get("type")):
        if isinstance(name, str) and (name in _KINDS or name in _NO_CREDIT):
            return name
    return ""


def _saying(body: Any, prompt: str, key: str) -> str:
    """The endpoint's own words, unless they repeat what it was sent."""
    said = _error_in(body).get("message")
    if not isinstance(said, str):
        return ""
    line = " ".join("".join(c if c.isprintable() else " " for c in said).split())
    line = _IDS.sub("...", mask_of_key(key).text(line))[:LONGEST_SAYING]
    windows = {line[at : at + WINDOW] for at in range(max(1, len(line) - WINDOW + 1))}
    sent = f"{' '.join(prompt.split())}\n{key}"
    if not line or "://" in line or any(len(w) == WINDOW and w in sent for w in windows):
        return ""
    return f": {line}"


def mask_of_key(key: str) -> Mask:
    """Hides *key*, which may be shorter than what is masked everywhere."""
    return Mask((key,), shortest=SHORTEST_KEY)
