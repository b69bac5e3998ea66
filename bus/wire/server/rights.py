"""Checks each request of a client against its grants, before the hub sees it."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from ...access import VERBS, WORKSPACE, Access, outside
from ...errors import CortexError, EventInvalidError
from ...event import Draft, Recorded
from ...limits import is_too_long, root_of
from ...local import LocalHub
from ...requests import (
    Attempt,
    Claim,
    Commit,
    Fetch,
    Finish,
    Page,
    Publish,
    Release,
    Renew,
    Request,
    Subscribe,
    Unsubscribe,
)
from ..frames import Ask, PutBlob, Serve, Unwatch, Watch

HOLD = "hold"  # the verb of a denial about a name
KEPT = 10_000  # cached answers; bounded, because clients choose the names
_TOPICAL = tuple(verb for verb in VERBS if verb != "approve")  # verbs about topics
BLOB = "blob"  # the subject of a denial to put a blob


class Rights:
    """The rights of one connected client; answers are cached until its grants change."""

    def __init__(self, access: Access, hub: LocalHub, client: str) -> None:
        self._access, self._hub, self._client = access, hub, client
        self._policy = hub.policy
        self._synced, self._retried = hub.policy.synced, hub.policy.retried
        # By verb and topic: whether with every key, or the keys with which it is granted.
        self._allowed: dict[tuple[str, str], Literal[True] | frozenset[str]] = {}
        self._held: dict[str, bool] = {}
        self._granted: bool | None = None  # whether it has any grant
        self._folders: Sequence[str] | None = None  # folders in which it may request work

    def forget(self) -> None:
        """Drop the cache: the client's grants have changed."""
        self._allowed, self._held, self._granted, self._folders = {}, {}, None, None

    def allows(self, verb: str, topic: str, key: str | None = None) -> bool:
        """Whether the client may *verb* events of *topic* with *key*; None for every key."""
        found = self._allowed.get((verb, topic))
        if found is None:
            found = self._keys(verb, topic)
        return found is True or key in found

    def _keys(self, verb: str, topic: str) -> Literal[True] | frozenset[str]:
        """The keys with which the client may *verb* events of *topic*; True for every key."""
        allowed = self._allowed  # a concurrent `forget` replaces the dict
        found = allowed.get((verb, topic))
        if found is None:
            if len(allowed) >= KEPT:
                allowed.clear()
            whole = self._access.allows(self._client, verb, topic)
            found = True if whole else self._access.keys(self._client, verb, topic)
            allowed[verb, topic] = found
        return found

    def problem(self, source: str, request: Request) -> CortexError | None:
        """Why the client may not make this request; None if it may."""
        self._access.freshen()
        if self._granted is None:
            self._granted = self._access.granted(self._client)
        problem = self._problem(source, request)
        if problem is not None:
            return problem
        if not self._granted:  # a client without grants may only say hello
            verb = "subscribe" if isinstance(request, Subscribe) else "read"
            return self._access.deny(self._client, verb, "*")
        return self._access.refusal(source or self._client, request)

    def _problem(self, source: str, request: Request) -> CortexError | None:
        match request:
            case Publish():
                return self._speaks(source) or self._publishes(source, request)
            case Commit() | Finish():
                spoken = self._speaks(source) or self._publishes(source, request)
                return spoken or self._holds(request.subscription)
            case Subscribe():
                verb = "work" if request.kind == "work" else "subscribe"
                pairs = request.filter
                if verb == "subscribe":
                    pairs = tuple(pair for pair in pairs if not self._is_asked_again(*pair))
                return self._holds(request.name) or self._patterns(verb, pairs)
            case Claim():
                pairs = self._hub.pairs_of(request.subscription)
                return self._holds(request.subscription) or self._patterns("work", pairs)
            case Fetch() | Attempt() | Renew() | Release():
                return self._holds(request.subscription)
            case Unsubscribe():
                return self._holds(request.name)
            case Watch() | Unwatch():
                held = (self._holds(name) for name in request.names)
                return next((problem for problem in held if problem is not None), None)
            case Serve():
                return self._answers(request.topics)
            case Ask():
                return self._asks(request)
            case PutBlob():
                return self._puts()
            case _:
                return None

    def seen(self, page: Page) -> Page:
        """The page without the events that the client may not see; the cursor passes them."""
        self._access.freshen()
        if self.allows("subscribe", "*"):
            return page
        return msgspec.structs.replace(
            page,
            records=self._only("subscribe", page.records),
            ephemeral=self._only("subscribe", page.ephemeral),
        )

    def concerns(self, record: Recorded) -> bool:
        """Whether the client may see such a record, publish it or take it as work."""
        return any(self.allows(verb, record.topic, record.key) for verb in _TOPICAL)

    def _only(self, verb: str, records: Sequence[Recorded]) -> tuple[Recorded, ...]:
        return tuple(
            r
            for r in records
            if self.allows(verb, r.topic, r.key) or self._is_asked_again(r.topic, r.key)
        )

    def _puts(self) -> CortexError | None:
        """Refuse blobs of clients that may neither publish nor work: they need none."""
        if any(self._access.allows_some(self._client, verb) for verb in ("publish", "work")):
            return None
        return self._access.deny(self._client, "publish", BLOB)

    def _speaks(self, source: str) -> CortexError | None:
        if source and is_too_long(source):
            return self._access.deny(self._client, HOLD, source)
        return self._holds(source) if source else None

    def _is_asked_again(self, topic: str, key: str | None) -> bool:
        """Whether these ask the client's own component to retry a parked event."""
        return topic == self._retried and key is not None and self._is_held(key)

    def _holds(self, name: str) -> CortexError | None:
        return None if self._is_held(name) else self._access.deny(self._client, HOLD, name)

    def _is_held(self, name: str) -> bool:
        held = self._held
        found = held.get(name)
        if found is None:
            if len(held) >= KEPT:
                held.clear()
            found = held[name] = self._access.holds(self._client, name)
        return found

    def _publishes(self, source: str, request: Publish | Commit | Finish) -> CortexError | None:
        denied = self._drafts(source, request.events)
        denied = denied or _unsynced(request, self._synced)
        if denied is None and (request.due or request.forget):
            denied = self._drafts(source, (due.draft for due in request.due))
            for name in (*request.forget, *(due.name for due in request.due)):
                # Deadlines share one set of names: no client may replace or forget another's.
                setter = self._hub.deadline_source(name)
                denied = denied or (self._holds(setter) if setter else None)
        return denied

    def _drafts(self, source: str, drafts: Iterable[Draft]) -> CortexError | None:
        last: str | None = None
        if self._folders is None:
            self._folders = self._access.folders(self._client)
        folders, placed = self._folders, self._policy.placed
        for draft in drafts:
            if folders and draft.topic in placed and (place := outside(draft, folders)):
                return self._access.deny(self._client, WORKSPACE, place)
            if draft.topic == last:  # decoded topics are equal, not identical
                continue
            verb = self._hub.vocabulary.granted_by(draft.topic)
            if verb and draft.key:
                denied = self._by_key(source, verb, draft.key)
            elif self.allows("publish", draft.topic):
                last = None if verb else draft.topic  # the next one may have a key
                continue
            elif self.allows("publish", draft.topic, draft.key) or self._begins(source, draft):
                continue
            else:
                denied = self._denied("publish", draft.topic, draft.key)
            if denied is not None:
                return denied
        return None

    def _by_key(self, source: str, verb: str, key: str) -> CortexError | None:
        if not self._access.allows(self._client, verb, key):
            return self._access.deny(self._client, verb, key)
        if source and root_of(source) != root_of(self._client):
            # The event is about its source: a client may not publish it for a component.
            return self._access.deny(self._client, HOLD, source)
        return None

    def _begins(self, source: str, draft: Draft) -> bool:
        """Whether it reports the begin or unknown end of an effect, for work the client may take.

        A client that may take the work may report this in the component's name.
        """
        policy = self._policy
        own = draft.topic in policy.begins and draft.key == root_of(source or self._client)
        return own and any(self._keys("work", topic) for topic in policy.effects)

    def _patterns(self, verb: str, pairs: Iterable[tuple[str, str | None]]) -> CortexError | None:
        """Ordered pages are filtered. Work is not, so that each of its patterns must be granted."""
        if verb == "subscribe":
            pairs = [pair for pair in pairs if pair[0] != "*" and not pair[0].endswith(".*")]
        for topic, key in pairs:
            if not self.allows(verb, topic, key):
                return self._denied(verb, topic, key)
        return None

    def _answers(self, topics: Iterable[str]) -> CortexError | None:
        for topic in topics:
            if not self._access.answers(self._client, topic):
                return self._access.deny(self._client, "work", topic)
        return None

    def _asks(self, request: Ask) -> CortexError | None:
        topic = request.topic
        if self.allows("read", topic):
            return None
        # Only now: to read the key of a query is to decode it.
        granted = self._keys("read", topic)
        key = self._hub.vocabulary.key_in(topic, request.body) if granted else None
        return None if self.allows("read", topic, key) else self._denied("read", topic, key)

    def _denied(self, verb: str, topic: str, key: str | None) -> CortexError:
        """Record a denial; it names the key where the client has the topic with other keys."""
        keyed = key is not None and self._keys(verb, topic)
        return self._access.deny(self._client, verb, f"{topic}={key}" if keyed else topic)


def _unsynced(request: Publish | Commit | Finish, topic: str) -> CortexError | None:
    """Refuse an event of *topic* that skips the hub's check, or that a power loss might undo."""
    synced = isinstance(request, Publish) and request.sync
    for draft in (*(() if synced else request.events), *(due.draft for due in request.due)):
        if draft.topic == topic:
            return EventInvalidError(topic, "it is published by itself, and synced (`sync`)")
    return None
