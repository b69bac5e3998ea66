"""Access over a hub: follows recorded grants, and records connections and denials.

Whoever publishes a `grant.revoked` finds it in force when the publish is acknowledged, or so soon
after that no page comes between: the hub wakes this before it continues. While the grants cannot
be read (a failing log), no client may do anything.
"""

import contextlib
import hmac
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from cortex.bus import (
    OWNER,
    Allowance,
    ClientDeniedError,
    CortexError,
    Draft,
    Event,
    Limits,
    LocalHub,
    Log,
    Logger,
    NotGrantedError,
    Peer,
    Publish,
    Subscribe,
    Unsubscribe,
    Vocabulary,
    Withdraw,
    root_of,
)
from cortex.runtime.secrets import redacted

from .denials import LIMIT, Denial, DenialNote, Denials, denial_event
from .grants import Grants, Outcome
from .owners import holders
from .permissions import EVERYTHING, Authorizer, Permissions
from .presence import CAME, LEFT, Presence, PresenceNote, presence_event
from .tokens import digest_of, owner_token

log = Logger("cortex.access")

SOURCE = "hub"  # of what is recorded here
SUBSCRIPTION = "hub/access"
NOBODY = "?"
SEND = "send"  # the verb of a denial that is about a frame
SHOWN = 80  # characters recorded of a stranger's text
LONGEST_NAME = 128  # of a connection: the client's and what it adds

NEVER_NS = 1 << 63

_CONNECTION = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*", re.ASCII)


class HubAccess(Authorizer):
    """The access of one served log.

    Args:
        hub: Where grants are recorded, and denials go.
        log: Its log; the grants in it are read before any client is admitted.
        vocabulary: Reads them.
        keys: The home's folder of that name: the owner's token is in it, or is made now.
        limits: Of each client that was granted no others; the owner has none.

    Raises:
        KeyFileError: The owner's token cannot be used.
        LogError: The log cannot be read.
    """

    def __init__(
        self,
        hub: LocalHub,
        log: Log,
        vocabulary: Vocabulary,
        keys: Path,
        limits: Limits = Limits(),  # noqa: B008  # frozen
    ) -> None:
        self._hub, self._log, self._vocabulary = hub, log, vocabulary
        self._limits = limits
        self._owner_digest = digest_of(owner_token(keys))
        self._grants = Grants()
        self._denials, self._presence = Denials(), Presence()
        self._changed: tuple[Callable[[str], None], ...] = ()
        self._reading = threading.Lock()
        self._taking = threading.RLock()  # a watcher asks for permissions
        self._counting = threading.Lock()
        self._marked, self._taken = 1, 0  # how often grants came, and what of it is taken in
        self._expiry_ns: int | None = None  # for which an alarm is set
        self._flush_ns, self._closed = NEVER_NS, False
        pairs = (("grant.*", None),)
        hub.ask_one(SOURCE, Subscribe(SUBSCRIPTION, "ordered", pairs, lasting=False))
        hub.mark(SUBSCRIPTION, self._mark)
        hub.watch(SUBSCRIPTION, self.freshen)
        self._take()
        self._withdraw(holders(log, vocabulary))

    @property
    def grants(self) -> Grants:
        """What is granted now; only to be looked at."""
        return self._grants

    def admit(self, token: str, name: str, peer: Peer) -> str:
        """The authenticated name of the client that shows *token*, or of a part of that client.

        The owner's connections are called "owner/..." whatever they call themselves.

        Raises:
            ClientDeniedError: The client is not admitted; that is recorded already.
        """
        digest = digest_of(token)
        well_named = not name or (len(name) <= LONGEST_NAME and _CONNECTION.fullmatch(name))
        if not well_named:
            raise self._refuse(NOBODY, "no client may have its name", name, peer)
        if peer.problem:
            raise self._refuse(NOBODY, f"its certificate is refused: {peer.problem}", name, peer)
        if hmac.compare_digest(digest, self._owner_digest):
            return name if root_of(name) == OWNER else f"{OWNER}/{name}" if name else OWNER
        return self._admit(digest, name, peer)

    def permissions_of(self, client: str) -> Permissions | None:
        """What *client* may do now: all if it is the owner's, nothing while grants are unread."""
        if root_of(client) == OWNER:
            return EVERYTHING
        self.freshen()
        return (
            None if self._is_stale else self._grants.permissions(client, self._hub.clock.now_ns())
        )

    def deny(self, client: str, verb: str, topic: str) -> CortexError:
        """Record that *client* was denied, and give the error to answer with."""
        about = _shown(topic)
        reason = "not of the protocol" if verb == SEND else "not granted"
        self._note(Denial(root_of(client) or NOBODY, verb, about, reason))
        if self._grants.was_revoked(root_of(client)):  # its connection is about to be cut
            return ClientDeniedError(client, "its grant was revoked")
        return NotGrantedError(client, verb, about)

    def limits(self, name: str) -> Allowance | None:
        """The limits of the client that *name* belongs to; None for the owner and the runtime."""
        found = self._grants.holder(root_of(name))  # as it is now: the hub is not asked from within
        if found is None:
            return None
        given = found.given
        limits = self._limits.but(given.limits) if given.limits else self._limits
        return Allowance(given.client, limits, (given.client, *given.names))

    def limited(self, client: str, what: str, limit: int) -> None:
        """Record that *client* is at a limit."""
        self._note(Denial(root_of(client), LIMIT, what, str(limit)))

    def watch(self, changed: Callable[[str], None]) -> None:
        """Call *changed* with a client's name when its grants change, end, or are taken back."""
        with self._reading:
            self._changed = (*self._changed, changed)

    def withdrawal(self, client: str) -> Withdraw | None:
        """The request that removes everything *client* left, if it is no longer admitted."""
        self.freshen()
        if self._is_stale or not self._grants.gone(client, self._hub.clock.now_ns()):
            return None
        return Withdraw(root_of(client), self._grants.kept(client))

    def connected(self, client: str, peer: Peer) -> None:
        """Record that *client* connected; repeated connections are counted."""
        self._note_presence(CAME, client, peer)

    def left(self, client: str, peer: Peer, reason: str) -> None:
        """Record that *client* disconnected, and why."""
        self._note_presence(LEFT, client, peer, _shown(reason))

    def close(self) -> None:
        """Follow the grants no longer, and record what was counted; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._hub.unwatch(SUBSCRIPTION, self.freshen)
        self._hub.unmark(SUBSCRIPTION, self._mark)
        with self._counting:
            told, pairs = self._denials.rest(), self._presence.rest()
        self._tell(told)
        self._tell_presence(pairs)
        with contextlib.suppress(CortexError):  # it goes with the hub
            self._hub.ask_one(SOURCE, Unsubscribe(SUBSCRIPTION))

    def _admit(self, digest: str, name: str, peer: Peer) -> str:
        self.freshen()
        if self._is_stale:
            raise ClientDeniedError(_shown(name), "the grants cannot be read now: try again later")
        now_ns = self._hub.clock.now_ns()
        with self._reading:
            client, outcome = self._grants.admit(digest, name, now_ns)
            grant = self._grants.grant(client)
        if outcome is not Outcome.ADMITTED or grant is None:
            raise self._refuse(client or NOBODY, outcome.value, name, peer)
        # nng gives the name that the home's authority signed, and not the certificate.
        if grant.given.certificate and peer.certificate != grant.given.client:
            raise self._refuse(
                client, "it does not show the certificate that it was granted with", name, peer
            )
        return name or client

    def _refuse(self, client: str, reason: str, name: str, peer: Peer) -> ClientDeniedError:
        claimed = _shown(name)
        self._note(Denial(client, "connect", "", reason), claimed, peer.carrier, peer.address)
        return ClientDeniedError(claimed, reason)

    @property
    def _is_stale(self) -> bool:
        return self._taken != self._marked

    def _mark(self) -> None:
        self._marked += 1

    def freshen(self) -> None:
        """Read the grants again where they have changed; it fails silently, and stays stale."""
        if self._is_stale:
            with contextlib.suppress(CortexError):
                self._take()

    def _take(self) -> None:
        with self._taking:
            marked = self._marked  # before reading: one that comes meanwhile is taken in next
            if self._taken == marked:
                return  # another thread has done it
            with self._reading:
                changed = self._grants.follow(self._log, self._vocabulary)
                watchers = self._changed
            self._set_expiry()
            self._say(watchers, dict.fromkeys(changed))
            self._taken = marked
        if changed:
            # Not here: the publisher of the grant is still inside the hub.
            self._hub.alarm(self._hub.steady_ns(), partial(self._withdraw, tuple(changed)))

    def _say(self, watchers: Sequence[Callable[[str], None]], clients: dict[str, None]) -> None:
        for client in clients:
            for watcher in watchers:
                watcher(client)

    def _set_expiry(self) -> None:
        """Ring when the next grant expires; until then nothing is asked of the clock."""
        now_ns = self._hub.clock.now_ns()
        with self._reading:
            ends = (g.given.expires_ns for g in self._grants.clients() if not g.expired(now_ns))
            next_ns = min(filter(None, ends), default=None)
            if next_ns is None or next_ns == self._expiry_ns:
                return
            self._expiry_ns = next_ns
        self._hub.alarm(self._hub.steady_ns() + next_ns - now_ns, self._expire)

    def _expire(self) -> None:
        now_ns = self._hub.clock.now_ns()
        with self._reading:
            self._expiry_ns = None
            over = {g.given.client: None for g in self._grants.clients() if g.expired(now_ns)}
            watchers = self._changed
        self._say(watchers, over)
        self._set_expiry()
        self._withdraw(over)

    def _withdraw(self, clients: Iterable[str]) -> None:
        """Remove what those of *clients* left whose grants have ended.

        A revocation does so in its own transaction; an expiry cannot, and older hubs did not.
        """
        with self._reading:
            now_ns = self._hub.clock.now_ns()
            gone = [
                Withdraw(client, self._grants.kept(client))
                for client in dict.fromkeys(clients)
                if self._grants.gone(client, now_ns)
            ]
        if self._closed or not gone:
            return
        try:
            self._hub.submit(SOURCE, gone)
        except CortexError as error:  # until a hub opens the home again
            log.warning("not_withdrawn", clients=[g.client for g in gone], error=str(error))

    def _note(
        self, denial: Denial, claimed: str = "", carrier: str = "", address: str = ""
    ) -> None:
        with self._counting:
            told = self._denials.note(denial, self._hub.steady_ns(), claimed, carrier, address)
        if told is not None:
            self._tell([told])
        self._set_flush()

    def _set_flush(self) -> None:
        with self._counting:
            known = (self._denials.next_ns(), self._presence.next_ns())
            next_ns = min((each for each in known if each is not None), default=NEVER_NS)
            if next_ns >= self._flush_ns:
                return
            self._flush_ns = next_ns
        self._hub.alarm(next_ns, self._flush)

    def _flush(self) -> None:
        with self._counting:
            now_ns = self._hub.steady_ns()
            if now_ns < self._flush_ns:
                return  # an earlier one has done it
            self._flush_ns = NEVER_NS
            told, pairs = self._denials.due(now_ns), self._presence.due(now_ns)
        self._tell(told)
        self._tell_presence(pairs)
        self._set_flush()

    def _note_presence(self, how: str, client: str, peer: Peer, reason: str = "") -> None:
        given = None if (grant := self._grants.grant(client)) is None else grant.given
        shown = given.certificate if given and peer.certificate == given.client else ""
        peer = msgspec.structs.replace(peer, certificate=shown)
        with self._counting:
            told = self._presence.note(how, client, peer, self._hub.steady_ns(), reason)
        if told is not None:
            self._tell_presence([told])
        self._set_flush()

    def _tell_presence(self, many: Sequence[PresenceNote]) -> None:
        if many:
            self._record(*map(presence_event, many))

    def _tell(self, many: Sequence[DenialNote]) -> None:
        events = [denial_event(each) for each in many]
        if events:
            self._record(*events)

    def _record(self, *events: Event) -> None:
        try:
            self._hub.ask_one(SOURCE, Publish(tuple(Draft.of(event) for event in events)))
        except CortexError as error:  # an error admits no client
            log.warning("not_recorded", topics=[e.topic_name() for e in events], error=str(error))


def _shown(text: str) -> str:
    """What a stranger said, as it may be recorded: short, printable, and without a secret."""
    printable = "".join(c if c.isprintable() else "?" for c in redacted(text[: 4 * SHOWN]))
    return printable if len(printable) <= SHOWN else printable[: SHOWN - 1] + "…"
