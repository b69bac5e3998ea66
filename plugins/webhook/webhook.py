"""The component behind the plugin `webhook`: signed posts become `trigger.received`."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from cortex.bus import (
    ConflictError,
    CortexError,
    EventError,
    Logger,
    NotGrantedError,
    SystemClock,
    Throttle,
)
from cortex.bus.events import PluginDenied, TriggerUnmatched
from cortex.runtime.kernel import VERSION, Component, Delivery, Home, Output, on

from ..errors import PluginRefusedError
from ..host.process import output_of, path_of
from ..manifest import Manifest, Wants
from ..secrets import secret
from .reading import Refusal, trigger_in
from .server import WebhookServer
from .settings import SECRET, settings_of

log = Logger("cortex.webhook")

NAME = "webhook"
PLUGIN = Manifest(
    name=NAME,
    version=VERSION,
    cortex=f"=={VERSION}",
    summary="Takes signed HTTP posts and makes triggers of them.",
    components=("cortex.plugins.webhook:Webhook",),
    publishes=("trigger.received",),
    subscribes=("trigger.unmatched",),
    wants=Wants(network=True, secrets=(SECRET,)),
)


class Webhook(Component):
    """Listens for posts while it runs; on the loopback address unless configured otherwise.

    A repeated post, also one resent by an attacker, is answered like the first and recorded once:
    its `trigger_id` is derived from the signed content, and the hub accepts each id once.
    """

    def __init__(
        self,
        home: Home | None,
        settings: Mapping[str, Any],
        publish: Callable[..., int],
    ) -> None:
        self._settings = settings_of(dict(settings))
        self._home, self._publish = home, publish
        self._hooks = {hook.path: hook for hook in self._settings.hooks}
        self._keys: dict[str, str] = {}
        self._throttle, self._counting = Throttle(), threading.Lock()
        self._clock = SystemClock()
        self._steady_ns = self._clock.monotonic_ns
        self._server: WebhookServer | None = None

    @classmethod
    def listens(cls, settings: Mapping[str, Any]) -> str:
        """Where posts go."""
        return f"http://{settings_of(dict(settings)).listen}"

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that it listens on; only while it is at work."""
        if self._server is None:
            raise PluginRefusedError("the webhook does not listen: start it first")
        host, port = self._server.server_address[:2]
        return str(host), int(port)

    def on_start(self) -> None:
        """Look up the secrets, and listen."""
        if self._home is None:
            raise PluginRefusedError("the webhook needs a home, for its secrets")
        self._keys = {h.secret: secret(self._home.path, h.secret) for h in self._settings.hooks}
        if len(set(self._keys.values())) < len(self._keys):
            names = ", ".join(sorted(self._keys))
            raise PluginRefusedError(
                f"two of the secrets {names} are the same: whoever may post to one hook could post "
                "to the other; give each its own"
            )
        for hook in self._settings.hooks:
            # Not of `Path`, which raises for a name that is too long.
            if hook.workspace and not os.path.isdir(hook.workspace):  # noqa: PTH112
                raise PluginRefusedError(
                    f"[plugins.webhook] in config.toml: the workspace {hook.workspace} of the hook "
                    f"{hook.path} is not a folder here: make it, or name another"
                )
        self._server = WebhookServer(
            self._settings.address,
            self._take,
            self._deny,
            body_bytes=self._settings.body_bytes,
            patience_s=self._settings.patience_s,
        )
        paths = ", ".join(self._hooks)
        said = output_of(path_of(self._home.path, NAME), {})
        said.say(f"listens on {self.listens(msgspec.to_builtins(self._settings))} for {paths}")

    def on_stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            self._server = None

    @on(TriggerUnmatched)
    def unmatched(self, event: TriggerUnmatched, delivery: Delivery) -> Iterator[Output]:
        """Log it for the operator: the sender was told that its post was accepted."""
        log.warning("trigger_unmatched", trigger_id=event.trigger_id, reason=event.reason)
        yield from ()

    def _take(
        self, path: str, headers: Mapping[str, str], body: bytes, came_from: str
    ) -> dict[str, Any]:
        try:
            hook = self._hooks.get(path)
            if hook is None:
                raise Refusal(HTTPStatus.NOT_FOUND, "there is no hook at this path")
            now_s = self._clock.now_ns() // 1_000_000_000
            event = trigger_in(hook, headers, body, self._keys[hook.secret], now_s)
            if event.workspace and not os.path.isdir(event.workspace):  # noqa: PTH112  # as above
                raise Refusal(
                    HTTPStatus.UNPROCESSABLE_ENTITY,
                    f"the workspace {event.workspace} is not a folder here: make it, "
                    "or name another",
                )
            try:
                self._publish(event, expected_version=0)
            except ConflictError:
                return {"trigger": event.trigger_id, "said": "it was received before"}
            except NotGrantedError as error:  # the hub sees where a link of that folder leads
                raise Refusal(HTTPStatus.FORBIDDEN, str(error)) from None
            except EventError as error:
                raise Refusal(HTTPStatus.BAD_REQUEST, str(error)) from None
            except CortexError as error:
                problem = f"it cannot be recorded now: {error}"
                raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, problem, denied=False) from None
            except (OverflowError, ValueError, RecursionError) as error:
                problem = f"the body cannot be recorded: {error}"
                raise Refusal(HTTPStatus.BAD_REQUEST, problem) from None
        except Refusal as refusal:
            if refusal.denied:
                self._deny(refusal.reason, came_from)
            raise
        return {"trigger": event.trigger_id, "said": "received"}

    def _deny(self, reason: str, came_from: str) -> None:
        with self._counting:
            times = self._throttle.take(reason, self._steady_ns())
        if times:
            try:
                event = PluginDenied(
                    plugin=NAME,
                    reason=f"a post from {came_from}: {reason}",
                    part="publish:trigger.received",
                    times=times,
                )
                self._publish(event)
            except CortexError as error:
                log.warning("not_recorded", reason=reason, error=str(error))
