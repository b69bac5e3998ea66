"""The plugins' own gateway to the hub: who may connect, and what each may publish and see.

A plugin's token is valid only here. Topics are checked against the grants, as in every hub's
server; keys and the models that a plugin may ask are checked before a request reaches the hub.
"""

import hmac
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from cortex.bus import (
    Access,
    Allowance,
    Answer,
    ClientDeniedError,
    Commit,
    CortexError,
    Done,
    Draft,
    Filter,
    Finish,
    Limits,
    LocalHub,
    NotGrantedError,
    Once,
    Pair,
    Peer,
    Publish,
    Rate,
    Refused,
    Request,
    Subscribe,
    Throttle,
    Withdraw,
)
from cortex.bus.events import ComponentFailed, ComponentRetry, EffectIntended, EffectUnknown

from ..granted import Granted, client_of

RETRY = ComponentRetry.topic_name()
PARKED = ComponentFailed.topic_name()  # with which a feed gives up an event, its own affair
# Of its components alone: what it gives up, and the effects that it begins or lost sight of.
OWN_AFFAIRS = frozenset(
    (PARKED, EffectIntended.topic_name(), EffectUnknown.topic_name()),
)
SAYING = (Publish, Commit, Finish, Subscribe)  # requests that a grant is about
Deny = Callable[[str, str, int], None]  # plugin, part, times


class Pass:
    """What one running plugin comes in with."""

    def __init__(self, plugin: str, token: str, granted: Granted, rate: int) -> None:
        self.plugin, self.client = plugin, client_of(plugin)
        self.token, self.granted = token, granted
        self.names: frozenset[str] = frozenset()  # of its components
        self.rate = Rate(rate)
        self.metering = threading.Lock()
        self.flooded: Callable[[], None] = lambda: None

    def holds(self, name: str) -> bool:
        """Whether a subscription or a source is its own."""
        root = name.partition("/")[0]
        return root == self.client or root in self.names

    def may_see(self, pair: Pair) -> bool:
        """Whether it may subscribe to this: what it was granted, and what is asked of its own."""
        topic, key = pair
        own = topic == RETRY and key is not None and self.holds(key)
        return own or self.granted.may_see(pair)


class GatewayAccess(Access):
    """Lets running plugins in, and nobody else.

    Args:
        denied: Is told what a plugin wanted and may not, at most once a second each.
        steady_ns: The time, for that.
        limits: Of what each plugin may make the hub keep; how much it may publish, it says itself.
    """

    def __init__(
        self,
        denied: Deny,
        steady_ns: Callable[[], int],
        limits: Limits = Limits(),  # noqa: B008  # frozen
    ) -> None:
        self._denied, self._steady_ns = denied, steady_ns
        self._limits = msgspec.structs.replace(limits, requests_per_s=0)
        self._passes: dict[str, Pass] = {}  # by plugin; replaced whole, so that it is read freely
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
        return next((each for each in self._passes.values() if each.holds(name)), None)

    def admit(self, token: str, name: str, peer: Peer) -> str:
        """The client whose token this is.

        Raises:
            ClientDeniedError: It is no running plugin's, or the name is another's.
        """
        for each in self._passes.values():
            if hmac.compare_digest(each.token.encode(), token.encode(errors="replace")):
                if name and name.partition("/")[0] != each.client:
                    self._note(each.plugin, "client:another")
                    raise ClientDeniedError(name[:80], "the name is not the plugin's")
                return name or each.client
        raise ClientDeniedError(name[:80], "its token belongs to no running plugin")

    def allows(self, client: str, verb: str, topic: str) -> bool:
        """Whether a plugin may do this with some key of *topic*."""
        each = self.pass_of(client)
        if each is None:
            return False
        if verb == "approve":
            return False  # no plugin answers in a person's place
        if verb == "publish":
            return topic in OWN_AFFAIRS or Filter.of(each.granted.publish).matches(topic)
        # A page has only what was subscribed to, key by key; what is read has every key.
        seen = [t for t, key in each.granted.subscribe if key is None or verb != "read"]
        return Filter.of(seen).matches(topic)

    def granted(self, client: str) -> bool:
        """Whether a plugin was granted anything: it was loaded, so that it has its own part."""
        return self.pass_of(client) is not None

    def folders(self, client: str) -> Sequence[str]:
        """The folders in which a plugin may ask for work; none where it may in any."""
        each = self.pass_of(client)
        return each.granted.workspaces if each is not None else ()

    def limits(self, name: str) -> Allowance | None:
        """The limits of the plugin whose client or component is called *name*."""
        each = self.pass_of(name)
        if each is None:
            return None
        return Allowance(each.client, self._limits, (each.client, *sorted(each.names)))

    def limited(self, client: str, what: str, limit: int) -> None:
        """Record that a plugin is at a limit."""
        each = self.pass_of(client)
        if each is not None:
            self._note(each.plugin, f"limit:{what}={limit}")

    def answers(self, client: str, topic: str) -> bool:
        """Whether a plugin may answer these queries: those of its own that it was granted."""
        each = self.pass_of(client)
        return each is not None and each.granted.may_answer(each.plugin, topic)

    def allows_some(self, client: str, verb: str) -> bool:
        """Whether a plugin may do this with anything at all."""
        each = self.pass_of(client)
        if each is None:
            return False
        return bool(each.granted.publish if verb == "publish" else each.granted.subscribe)

    def holds(self, client: str, subscription: str) -> bool:
        """Whether *subscription* is the plugin's."""
        each = self.pass_of(client)
        return each is not None and each.holds(subscription)

    def deny(self, client: str, verb: str, topic: str) -> CortexError:
        """Record what a plugin wanted, and give the error to answer with."""
        each = self.pass_of(client)
        if each is not None:
            self._note(each.plugin, f"{verb}:{topic[:80]}")
        return NotGrantedError(client, verb, topic[:80])

    def watch(self, changed: Callable[[str], None]) -> None:
        """Call *changed* when a plugin is let in no more."""
        self._changed = (*self._changed, changed)

    def standing(self, client: str) -> bool:
        """Whether the plugin is still let in."""
        return self.pass_of(client) is not None

    def withdrawal(self, client: str) -> Withdraw | None:
        """None: a plugin that has ended comes back, until it is unloaded, which withdraws it."""
        return None

    def connected(self, client: str, peer: Peer) -> None:
        """Nothing: `plugin.loaded` says as much."""

    def left(self, client: str, peer: Peer, reason: str) -> None:
        """Nothing: `plugin.unloaded` or `plugin.crashed` says as much."""

    def _note(self, plugin: str, part: str) -> None:
        with self._counting:
            times = self._throttle.take(f"{plugin} {part}", self._steady_ns())
        if times:
            self._denied(plugin, part, times)


class Guard:
    """The hub as plugins reach it: what goes beyond a grant is refused, a flood ends its plugin.

    All else is the hub's own.
    """

    def __init__(self, hub: LocalHub, access: GatewayAccess) -> None:
        self._before, self._access = hub, access

    def __getattr__(self, name: str) -> Any:
        return getattr(self._before, name)

    def submit(self, client: str, requests: Sequence[Request]) -> list[Answer]:
        """As a hub does, for those requests that the plugin may make."""
        given: list[Answer] = []
        for request in requests:
            if isinstance(request, Once):
                given.append(self._once(client, request))
            else:
                refusal = self._refusal(client, request)
                given += [refusal] if refusal else self._before.submit(client, (request,))
        return given

    def _once(self, client: str, request: Once) -> Answer:
        """As `submit`, for a frame that may come again; the same of it is let through each time."""
        asked = [(source, each) for source, many in request.parts for each in many]
        refusals = [self._refusal(source, each) for source, each in asked]
        through = [(*pair,) for pair, no in zip(asked, refusals, strict=True) if no is None]
        if len(through) == len(asked):
            return self._before.submit(client, (request,))[0]
        parts = tuple((source, (each,)) for source, each in through)
        answers: Iterator[Answer] = iter(())
        if parts:
            done = self._before.submit(client, (msgspec.structs.replace(request, parts=parts),))[0]
            if not isinstance(done, Done):
                return done
            answers = iter(done.answers)
        return Done(tuple(no or next(answers) for no in refusals))

    def _refusal(self, client: str, request: Request) -> Answer | None:
        if not isinstance(request, SAYING):
            return None  # whose subscription it is about was looked at when it came in
        each = self._access.pass_of(client)
        if each is None:
            return Refused.of(NotGrantedError(client, "publish", "*"))
        if isinstance(request, Subscribe):
            beyond = [pair for pair in request.filter if not each.may_see(pair)]
            if beyond:
                return Refused.of(self._access.deny(client, "subscribe", _said(*beyond[0])))
        drafts = _drafts(request)
        for draft in drafts:
            about = draft.stream.partition("/")[2] if draft.topic == PARKED else draft.key or ""
            own = draft.topic in OWN_AFFAIRS and each.holds(about)
            if not (own or each.granted.may_publish(draft)):
                return Refused.of(
                    self._access.deny(client, "publish", _said(draft.topic, draft.key))
                )
        with each.metering:
            bearable = each.rate.take(len(drafts), self._before.steady_ns())
        if not bearable:
            each.flooded()
            return Refused.of(NotGrantedError(client, "publish", "a flood"))
        return None


def _said(topic: str, key: str | None) -> str:
    return topic if key is None else f"{topic}={key}"


def _drafts(request: Request) -> list[Draft]:
    if isinstance(request, Publish | Commit | Finish):
        return [*request.events, *(due.draft for due in request.due)]
    return []
