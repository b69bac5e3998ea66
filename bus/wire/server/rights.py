"""Checks each request of a client against its grants, before the hub sees it."""

from collections.abc import Iterable, Sequence

import msgspec

from ...access import WORKSPACE, Access, outside
from ...errors import CortexError, EventInvalidError
from ...event import Draft, Recorded
from ...limits import is_too_long
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
BLOB = "blob"  # the subject of a denial to put a blob


class Rights:
    """The rights of one connected client; answers are cached until its grants change."""

    def __init__(self, access: Access, hub: LocalHub, client: str) -> None:
        self._access, self._hub, self._client = access, hub, client
        self._policy = hub.policy
        self._synced, self._retried = hub.policy.synced, hub.policy.retried
        self._allowed: dict[tuple[str, str], bool] = {}
        self._held: dict[str, bool] = {}
        self._granted: bool | None = None  # whether it has any grant
        self._folders: Sequence[str] | None = None  # folders in which it may request work

    def forget(self) -> None:
        """Drop the cache: the client's grants have changed."""
        self._allowed, self._held, self._granted, self._folders = {}, {}, None, None

    def allows(self, verb: str, topic: str) -> bool:
        """Whether the client may *verb* events of *topic*."""
        allowed = self._allowed  # a concurrent `forget` replaces the dict
        found = allowed.get((verb, topic))
        if found is None:
            if len(allowed) >= KEPT:
                allowed.clear()
            found = allowed[verb, topic] = self._access.allows(self._client, verb, topic)
        return found

    def problem(self, source: str, request: Request) -> CortexError | None:
        """Why the client may not make this request; None if it may."""
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
                return self._all("read", (request.topic,))
            case PutBlob():
                return self._puts()
            case _:
                return None

    def seen(self, page: Page) -> Page:
        """The page without the events that the client may not see; the cursor passes them."""
        if self.allows("subscribe", "*"):
            return page
        return msgspec.structs.replace(
            page,
            records=self._only("subscribe", page.records),
            ephemeral=self._only("subscribe", page.ephemeral),
        )

    def _only(self, verb: str, records: Sequence[Recorded]) -> tuple[Recorded, ...]:
        return tuple(
            r for r in records if self.allows(verb, r.topic) or self._is_asked_again(r.topic, r.key)
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
                if not self._access.allows(self._client, verb, draft.key):
                    return self._access.deny(self._client, verb, draft.key)
                if source and _root(source) != _root(self._client):
                    # The event is about its source: a client may not publish it for a component.
                    return self._access.deny(self._client, HOLD, source)
            elif not (self.allows("publish", draft.topic) or self._begins(source, draft)):
                return self._access.deny(self._client, "publish", draft.topic)
            last = None if verb else draft.topic  # the next one may have a key
        return None

    def _begins(self, source: str, draft: Draft) -> bool:
        """Whether it reports the begin or unknown end of an effect, for work the client may take.

        A client that may take the work may report this in the component's name.
        """
        policy = self._policy
        own = draft.topic in policy.begins and draft.key == _root(source or self._client)
        return own and any(self.allows("work", topic) for topic in policy.effects)

    def _patterns(self, verb: str, pairs: Iterable[tuple[str, str | None]]) -> CortexError | None:
        """Ordered pages are filtered. Work is not, so that each of its patterns must be granted."""
        topics = [topic for topic, _ in pairs]
        if verb == "subscribe":
            topics = [t for t in topics if t != "*" and not t.endswith(".*")]
        return self._all(verb, topics)

    def _answers(self, topics: Iterable[str]) -> CortexError | None:
        for topic in topics:
            if not self._access.answers(self._client, topic):
                return self._access.deny(self._client, "work", topic)
        return None

    def _all(self, verb: str, topics: Iterable[str]) -> CortexError | None:
        for topic in topics:
            if not self.allows(verb, topic):
                return self._access.deny(self._client, verb, topic)
        return None


def _unsynced(request: Publish | Commit | Finish, topic: str) -> CortexError | None:
    """Refuse an event of *topic* that skips the hub's check, or that a power loss might undo."""
    synced = isinstance(request, Publish) and request.sync
    for draft in (*(() if synced else request.events), *(due.draft for due in request.due)):
        if draft.topic == topic:
            return EventInvalidError(topic, "it is published by itself, and synced (`sync`)")
    return None


def _root(name: str) -> str:
    return name.partition("/")[0]
