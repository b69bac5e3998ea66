"""The plugins' own gateway to the hub: who may connect, and what each may publish and see.

A plugin's token is valid only here. Topics are checked against the grants, as in every hub's
server; `GatewayAccess.refusal` checks keys, models and rates too, before a request reaches the hub.
"""

import hmac
import threading
from collections.abc import Callable, Sequence

import msgspec

from cortex.bus import (
    Allowance,
    ClientDeniedError,
    Commit,
    CortexError,
    Draft,
    Finish,
    Limits,
    NotGrantedError,
    Pair,
    Peer,
    Publish,
    Rate,
    Request,
    Subscribe,
    Throttle,
    Withdraw,
    root_of,
)
from cortex.bus.events import ComponentFailed, ComponentRetry
from cortex.runtime.access import PUBLISH, SUBSCRIBE, Authorizer, Permissions

from ..granted import Granted, client_of, may_answer

RETRY = ComponentRetry.topic_name()
PARKED = ComponentFailed.topic_name()  # with which a feed gives up an event, its own affair
SAYING = (Publish, Commit, Finish, Subscribe)  # requests that a grant is about
Deny = Callable[[str, str, int], None]  # plugin, part, times


class Pass:
    """What one running plugin comes in with."""

    def __init__(
        self, plugin: str, token: str, granted: Granted, rate: int, names: Sequence[str] = ()
    ) -> None:
        self.plugin, self.client = plugin, client_of(plugin)
        self.token, self.granted = token, granted
        self.names = tuple(sorted(names))  # of its components
        self.permissions = granted.permissions(self.client, names, own=(PARKED,))
        self.rate = Rate(rate)
        self.metering = threading.Lock()
        self.flooded: Callable[[], None] = lambda: None

    def may_see(self, pair: Pair) -> bool:
        """Whether it may subscribe to this: what it was granted, and what is asked of its own."""
        topic, key = pair
        own = topic == RETRY and key is not None and self.permissions.holds(key)
        return own or self.permissions.allows_key(SUBSCRIBE, topic, key)

    def may_publish(self, draft: Draft) -> bool:
        """Whether it may say this, by topic allowed already: of its own components, its models."""
        if draft.topic == PARKED and not self.permissions.allows_key(PUBLISH, PARKED, None):
            return self.permissions.holds(draft.stream.partition("/")[2])
        return self.granted.may_ask(draft)


class GatewayAccess(Authorizer):
    """Admits running plugins, and no other client.

    Args:
        denied: Called with each refused request, at most once a second for equal ones.
        steady_ns: The clock for that.
        limits: On what the hub stores for each plugin; its manifest limits its publishing rate.
    """

    def __init__(
        self,
        denied: Deny,
        steady_ns: Callable[[], int],
        limits: Limits = Limits(),  # noqa: B008  # frozen
    ) -> None:
        self._denied, self._steady_ns = denied, steady_ns
        self._limits = msgspec.structs.replace(limits, requests_per_s=0)
        self._passes: dict[str, Pass] = {}  # by plugin; replaced whole: reading needs no lock
        self._changed: tuple[Callable[[str], None], ...] = ()
        self._throttle = Throttle()
        self._counting = threading.Lock()

    def let_in(self, each: Pass) -> None:
        """Let a plugin in from now on."""
        self._passes = {**self._passes, each.plugin: each}

    def shut_out(self, plugin: str) -> None:
        """Let a plugin in no more, and cut what it has open."""
        left = {name: each for name, each in self._passes.items() if name != plugin}
        self._passes = left
        for changed in self._changed:
            changed(client_of(plugin))

    def pass_of(self, name: str) -> Pass | None:
        """The pass of the plugin whose client, component or subscription is called *name*."""
        passes = self._passes.values()
        return next((each for each in passes if each.permissions.holds(name)), None)

    def admit(self, token: str, name: str, peer: Peer) -> str:
        """The client whose token this is.

        Raises:
            ClientDeniedError: It is no running plugin's, or the name is another's.
        """
        for each in self._passes.values():
            if hmac.compare_digest(each.token.encode(), token.encode(errors="replace")):
                if name and root_of(name) != each.client:
                    self._note(each.plugin, "client:another")
                    raise ClientDeniedError(name[:80], "the name is not the plugin's")
                return name or each.client
        raise ClientDeniedError(name[:80], "its token belongs to no running plugin")

    def permissions_of(self, client: str) -> Permissions | None:
        """What the plugin with this client or component may do; None if it is not running."""
        each = self.pass_of(client)
        return each.permissions if each is not None else None

    def limits(self, name: str) -> Allowance | None:
        """The limits of the plugin whose client or component is called *name*."""
        each = self.pass_of(name)
        if each is None:
            return None
        return Allowance(each.client, self._limits, (each.client, *each.names))

    def limited(self, client: str, what: str, limit: int) -> None:
        """Record that a plugin is at a limit."""
        each = self.pass_of(client)
        if each is not None:
            self._note(each.plugin, f"limit:{what}={limit}")

    def answers(self, client: str, topic: str) -> bool:
        """Whether a plugin may answer these queries: those of its own that it was granted."""
        each = self.pass_of(client)
        return each is not None and may_answer(each.permissions, each.plugin, topic)

    def refusal(self, source: str, request: Request) -> CortexError | None:
        """Why a plugin may not ask this: a key or a model is beyond its grant, or it floods.

        A flood ends the plugin.
        """
        if not isinstance(request, SAYING):
            return None  # whose subscription it is about was looked at already
        each = self.pass_of(source)
        if each is None:
            return NotGrantedError(source, "publish", "*")
        if isinstance(request, Subscribe):
            beyond = (pair for pair in request.filter if not each.may_see(pair))
            if unseen := next(beyond, None):
                return self.deny(source, "subscribe", _said(*unseen))
        drafts = _drafts(request)
        for draft in drafts:
            if not each.may_publish(draft):
                return self.deny(source, "publish", _said(draft.topic, draft.key))
        with each.metering:
            bearable = each.rate.take(len(drafts), self._steady_ns())
        if not bearable:
            each.flooded()
            return NotGrantedError(source, "publish", "a flood")
        return None

    def deny(self, client: str, verb: str, topic: str) -> CortexError:
        """Record what a plugin wanted, and give the error to answer with."""
        each = self.pass_of(client)
        if each is not None:
            self._note(each.plugin, f"{verb}:{topic[:80]}")
        return NotGrantedError(client, verb, topic[:80])

    def watch(self, changed: Callable[[str], None]) -> None:
        """Call *changed* when a plugin is no longer admitted."""
        self._changed = (*self._changed, changed)

    def withdrawal(self, client: str) -> Withdraw | None:
        """None: a plugin that has ended comes back, until it is unloaded, which withdraws it."""
        return None

    def connected(self, client: str, peer: Peer) -> None:
        """Nothing: `plugin.loaded` records it."""

    def left(self, client: str, peer: Peer, reason: str) -> None:
        """Nothing: `plugin.unloaded` or `plugin.crashed` records it."""

    def _note(self, plugin: str, part: str) -> None:
        with self._counting:
            times = self._throttle.take(f"{plugin} {part}", self._steady_ns())
        if times:
            self._denied(plugin, part, times)


def _said(topic: str, key: str | None) -> str:
    return topic if key is None else f"{topic}={key}"


def _drafts(request: Request) -> list[Draft]:
    if isinstance(request, Publish | Commit | Finish):
        return [*request.events, *(due.draft for due in request.due)]
    return []
