"""The action `send_notification`: notifies a program or a web hook, once and signed."""

import hashlib
import os
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from cortex.bus.events import StepExecute
from cortex.runtime.code import repair
from cortex.runtime.code.programs import (
    EffectInterruptedError,
    History,
    ProgramError,
    ProgramRefusedError,
    Programs,
    Seconds,
    argv_of,
)
from cortex.runtime.code.repair import (
    HookFailedError,
    HookRefusedError,
    HookUnansweredError,
)
from cortex.runtime.functions import ActionStep, EffectUnknownError, StepError, action
from cortex.runtime.isolation import interpreter
from cortex.runtime.kernel import Component, Config, Home
from cortex.runtime.secrets import Mask

from .shell import UNKEPT

TIMEOUT_S = 30.0
SAID_CHARS = 200  # of a failed program's output
UNHEARD = "it was posted, and the process that did it ended before an answer came"
NOBODY = "a step notifies one receiver: give one of `command`, `webhook` and `webhook_env`"
TEAM = "CORTEX_WEBHOOK"  # the variable with the web hook, if the step names no receiver


Told: TypeAlias = Literal["once", "idempotent"]  # what to do if it is unknown whether it arrived


class SendNotificationParameters(msgspec.Struct, frozen=True):
    """Tell somebody, by a program or a web hook: who is told, and what."""

    command: str | list[str] = []  # program that gets the notification as JSON on standard input
    webhook: str = ""  # URL to post to: https, or http on this host
    webhook_env: str = ""  # environment variable with that URL; "": CORTEX_WEBHOOK
    secret_env: str = ""  # environment variable with the key that signs the post
    message: str = ""  # "": the description of the step
    data: dict[str, Any] = {}  # further fields of the notification
    timeout_s: Seconds = TIMEOUT_S  # of the program or the post
    env: list[str] = []  # names of further environment variables that the program gets
    effect: Told = "once"  # "idempotent": the receiver recognises a repetition by the key


class SendNotificationResult(msgspec.Struct, frozen=True):
    """What `send_notification` gives."""

    by: str  # "command" or "webhook"
    status: int  # exit code of the program, or HTTP status
    key: str  # the same in every repetition


class Notification(msgspec.Struct, frozen=True):
    """What is told, as JSON."""

    key: str  # the same whenever the same is told again
    execution: str
    step: str
    goal: str
    message: str
    data: dict[str, Any]


class SendNotification(Component):
    """Sends a notification by a program or a webhook.

    The `retry:` of the step repeats it with the same key. If Cortex does not know whether the
    notification arrived, it asks a person, unless `effect` is "idempotent".
    """

    rests = True
    workers = 2
    recovers = True  # a step says whether it may be repeated; a program's end is recorded

    def __init__(
        self,
        config: Config,
        home: Home | None,
        history: History | None = None,
        mask: Mask | None = None,
    ) -> None:
        self._programs = Programs(config, home, history, mask)

    def on_stop(self) -> None:
        """Remove everything if there is no home."""
        self._programs.close()

    @action("send_notification", effect="once", programs=["command", "webhook"])
    def execute(
        self, asked: SendNotificationParameters, step: ActionStep
    ) -> SendNotificationResult:
        """Send it, or find out what became of it."""
        named = sum(map(bool, (asked.command, asked.webhook, asked.webhook_env)))
        if named > 1:
            raise StepError(NOBODY, kind="refused", retry=False)
        if not named:
            asked = msgspec.structs.replace(asked, webhook_env=TEAM)
        again = asked.effect == "idempotent"
        lost = step.begun and not again
        if lost and (not asked.command or not self._programs.are_kept):
            raise EffectUnknownError(UNKEPT if asked.command else UNHEARD)
        said = _notification(step.event, asked)
        try:
            if asked.command:
                return self._tell_program(step, asked, said)
            return _tell_hook(step, asked, said)
        except HookUnansweredError as error:
            raise (StepError if again else EffectUnknownError)(str(error)) from error
        except (HookRefusedError, HookFailedError, ProgramRefusedError) as error:
            raise StepError.of(error) from error
        except ProgramError as error:
            problem = f"the program {error.problem}"
            if isinstance(error, EffectInterruptedError) and not again:
                raise EffectUnknownError(problem) from error
            raise StepError.of(error, problem) from error

    def _tell_program(
        self, step: ActionStep, asked: SendNotificationParameters, said: Notification
    ) -> SendNotificationResult:
        event, programs = step.event, self._programs
        argv = argv_of(asked.command, programs.allow)
        given = programs.folder / "notifications" / f"{said.key}.json"
        _keep(given, msgspec.json.encode(said, order="deterministic"))
        launch = interpreter("-S", "-c", _LAUNCH, str(given), *argv)
        timeout_s = min(asked.timeout_s, event.timeout_s)
        folder = event.workspace or str(programs.folder)
        try:
            outcome = programs.effects.run(
                step.effect_key(),
                launch,
                folder,
                timeout_s,
                passed=(*programs.named, *asked.env),
                hidden=programs.hidden | {asked.secret_env},
                wanted=programs.wait_for(event, step.delivery),
                again=asked.effect == "idempotent",
                stream=event.stream(),
            )
        finally:
            given.unlink(missing_ok=True)
        if outcome.exit_code:
            tail = " | ".join(outcome.tail(3).splitlines())[-SAID_CHARS:]
            ended = f"{argv[0]} ended with {outcome.exit_code}"
            raise StepError(f"{ended}: {tail}" if tail else ended)
        step.summary = f"told {argv[0]}"
        return SendNotificationResult("command", 0, said.key)


def _tell_hook(
    step: ActionStep, asked: SendNotificationParameters, said: Notification
) -> SendNotificationResult:
    url = repair.hook_url(asked.webhook, asked.webhook_env)
    status = repair.post_hook(
        url,
        msgspec.json.encode(said, order="deterministic"),
        said.key,
        repair.hook_secret(asked.secret_env) if asked.secret_env else None,
        min(asked.timeout_s, step.timeout_s),
    )
    step.summary = f"posted to {url.host}, which answered {status}"
    return SendNotificationResult("webhook", status, said.key)


def _notification(event: StepExecute, asked: SendNotificationParameters) -> Notification:
    message = asked.message or event.description
    told = (event.execution_id, event.step_id, event.goal, message, asked.data)
    encoded = msgspec.json.encode(told, order="deterministic")
    key = hashlib.sha256(encoded).hexdigest()[:32]
    return Notification(key, *told)


def _keep(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # Another name first: an earlier start of the program may still read the old file.
        staged = path.with_suffix(".new")
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        staged.replace(path)
    except OSError as error:
        raise ProgramError("", f"was not started: {error.strerror or error}") from None


# A program that is run once gets no input, so this one provides the notification as input.
_LAUNCH = """
import os, sys
os.dup2(os.open(sys.argv[1], os.O_RDONLY), 0)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"cannot be started: {error.strerror}")
"""
