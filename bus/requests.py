"""The requests of clients and the answers of hubs; the frames of the wire carry them.

Every request but `Fetch` changes something, and is answered when that is durable. A refused request
changes nothing, and does not affect the other requests of its batch.
"""

import contextlib
from collections.abc import Callable

import msgspec

from .errors import (
    AskTimeoutError,
    BegunError,
    ClientDeniedError,
    ConflictError,
    CortexError,
    CursorError,
    EventInvalidError,
    EventTooLargeError,
    FrameError,
    FrameTooLargeError,
    HubFailedError,
    LeaseLostError,
    LimitError,
    NotGrantedError,
    OutcomeUnknownError,
    SubscriptionError,
    TailLostError,
    TopicUnknownError,
    UnansweredError,
    VersionError,
)
from .event import Draft, Recorded
from .limits import NAME_BYTES, is_too_long

LOOKED_AT = 4_096  # events that one page examines at most: this bounds its duration
PASSED_BY = 10_000  # events after which those are woken, too, who see none: their cursors move
Pair = tuple[str, str | None]  # topic, "family.*" or "*"; key, None for every key


class Due(msgspec.Struct, frozen=True, array_like=True):
    """A recorded deadline: *draft* is appended at *due_ns* unless *name* is forgotten before.

    Times are the log's. With `after_ns`, the deadline is a duration: it is due when `after_ns` have
    passed since `due_ns - after_ns`, by a monotonic clock.
    """

    name: str
    due_ns: int
    draft: Draft
    after_ns: int = 0  # its duration; 0: it is due at a time

    def check(self) -> None:
        """Refuse what a log cannot store.

        Raises:
            EventInvalidError: Its time is out of range, its name is no text, or its event expects a
                version of its stream, which is not checked when it is due.
        """
        if self.draft.expected_version is not None:
            problem = (
                f"a deadline's event expects version {self.draft.expected_version} of its stream: "
                "leave it out, for others may write there before it is due"
            )
            raise EventInvalidError(self.draft.topic, problem)
        if not (0 <= self.due_ns < 1 << 63 and 0 <= self.after_ns < 1 << 63):
            problem = f"a deadline is at {self.due_ns}: give nanoseconds since 1970"
            raise EventInvalidError(self.draft.topic, problem)
        refuse_no_text(self.draft.topic, self.name)
        if is_too_long(self.name):
            problem = f"its name has more than {NAME_BYTES} bytes: {self.name[:40]!r}..."
            raise EventInvalidError(self.draft.topic, problem)


def refuse_no_text(topic: str, name: str) -> None:
    """Refuse the name of a deadline that cannot be stored.

    Raises:
        EventInvalidError: The name contains half of a surrogate pair.
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        raise EventInvalidError(topic, f"the deadline name {name!a} is not text") from None


class Request(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Base of the requests of clients; the tag is its name on the wire.

    A request with positions, versions or numbers says in `log_epoch` in which epoch of the log its
    client learned them; 0 if it does not know. If the log has lost them since, the request is
    refused with `TailLostError`.
    """


class Publish(Request, frozen=True, tag="publish"):
    """Append events."""

    events: tuple[Draft, ...]
    number: int = 0  # 1, 2, 3, ... by client: a repeat is answered, not appended; 0: not numbered
    due: tuple[Due, ...] = ()
    forget: tuple[str, ...] = ()
    log_epoch: int = 0
    seen: int = 0  # the newest position that its client knew, and may refer to
    sync: bool = False  # answered once it would survive a power loss, whatever `durability` says


class Subscribe(Request, frozen=True, tag="subscribe"):
    """Make a subscription, or take up an existing one; its cursor stays where it is."""

    name: str
    kind: str  # "ordered" or "work"
    filter: tuple[Pair, ...]
    # For a new ordered one: "beginning" for the whole log, the position of the first event
    # that it gets, or a time with its zone, in ISO 8601.
    start: str = "now"
    lasting: bool = True  # False: it ends with the hub, and has no cursor


class Unsubscribe(Request, frozen=True, tag="unsubscribe"):
    """Remove a subscription with its cursor or its waiting work."""

    name: str


class Fetch(Request, frozen=True, tag="fetch"):
    """The next page of an ordered subscription."""

    subscription: str
    after: int
    limit: int = 256
    limit_bytes: int = 1 << 20
    ring_after: int = 0  # newest ephemeral event seen; -1: only those after this request
    wait_s: float = 0.0  # over a wire: how long the answer may wait for an event
    log_epoch: int = 0


class Commit(Request, frozen=True, tag="commit"):
    """Move a cursor and append the results of the events it passes, in one transaction."""

    subscription: str
    after: int  # the current cursor
    through: int  # the new cursor
    events: tuple[Draft, ...] = ()
    due: tuple[Due, ...] = ()
    forget: tuple[str, ...] = ()
    log_epoch: int = 0


class Attempt(Request, frozen=True, tag="attempt"):
    """Count, on disk, that the event after the cursor is about to be tried."""

    subscription: str
    sync: bool = False  # answered once the event would survive a loss of power


class Claim(Request, frozen=True, tag="claim"):
    """Take work: each event for *lease_ns*, with its epoch and attempts raised on disk."""

    subscription: str
    limit: int  # 0 takes nothing, and only asks whether there is work
    lease_ns: int
    sync: bool = False  # the claims would survive a power loss, whatever `durability` says


class StandingClaim(Claim, frozen=True, tag="standing_claim"):
    """Take work; if there is none, the next work is leased in the transaction that appends it.

    The claim lasts until its claimant claims again; that claim needs no transaction.
    Only for claimants in the hub's own process, which end with it; clients never send it.
    """

    claimant: str = ""  # unique among the claimants


class StandDown(Request, frozen=True, tag="stand_down"):
    """Withdraw the standing claim of *claimant*; work that was leased for it is free again."""

    claimant: str


class Renew(Request, frozen=True, tag="renew"):
    """Hold one event for *lease_ns* more."""

    subscription: str
    position: int
    epoch: int
    lease_ns: int
    log_epoch: int = 0


class Finish(Request, frozen=True, tag="finish"):
    """End one event's work and append its results, in one transaction."""

    subscription: str
    position: int
    epoch: int
    events: tuple[Draft, ...] = ()
    due: tuple[Due, ...] = ()
    forget: tuple[str, ...] = ()
    log_epoch: int = 0


class Release(Request, frozen=True, tag="release"):
    """Give one event back; no worker gets it for *backoff_ns*."""

    subscription: str
    position: int
    epoch: int
    backoff_ns: int
    log_epoch: int = 0


class Once(Request, frozen=True, tag="once"):
    """Requests that are done together, and only once, even if this frame comes again.

    The answers are kept in the same transaction, one row for each lane of the client. A refused
    request changes nothing, as everywhere, and does not affect the others.
    """

    number: int  # upper half: random per process of the caller; lower half: its own count
    repeat: bool  # there was no answer the last time
    parts: tuple[tuple[str, tuple[Request, ...]], ...]  # source, and what it asks


class Withdraw(Request, frozen=True, tag="withdraw"):
    """Remove what a client left: deadlines, subscriptions with their work, announcements.

    Only the hub's own process sends it, for a client that is no longer admitted.
    """

    client: str
    keeps: tuple[str, ...] = ()  # as in `grant.revoked`


class Answer(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Base of the answers of a hub."""


class Appended(Answer, frozen=True, tag="appended"):
    """The request is done and durable; its events are at *first* to *last*, 0 and 0 for none."""

    first: int = 0
    last: int = 0


class Subscribed(Answer, frozen=True, tag="subscribed"):
    """The subscription exists, with its *cursor*."""

    cursor: int
    head: int
    attempts: int
    log_epoch: int = 0  # of the cursor


class Page(Answer, frozen=True, tag="page"):
    """Matching events in order; *through* is the last position looked at.

    A page without events that examined fewer than `LOOKED_AT` has reached the end of the log.
    """

    records: tuple[Recorded, ...]
    through: int
    ephemeral: tuple[Recorded, ...] = ()
    ring_through: int = 0
    dropped: int = 0  # ephemeral events that left the ring before they were fetched
    log_epoch: int = 0  # of *through*


class Lease(msgspec.Struct, frozen=True, array_like=True):
    """One claimed event."""

    record: Recorded
    epoch: int
    attempts: int  # this claim included
    fallen: int = 0  # of them, how many ended with a crashed hub; the event may not be the cause
    log_epoch: int = 0  # in which it was claimed


class Claimed(Answer, frozen=True, tag="claimed"):
    """The leased work, oldest first; empty if there is none now."""

    leases: tuple[Lease, ...]
    waiting: bool = False  # set if the limit was 0: there is work


class Attempted(Answer, frozen=True, tag="attempted"):
    """How often the event after the cursor was tried, this try included.

    0: not now, because an event that may have crashed the hub is being tried alone. The hub wakes
    the subscription when that is done.
    """

    attempts: int
    fallen: int = 0  # of them, how many ended with a crashed hub; the event may not be the cause


class Refused(Answer, frozen=True, tag="refused"):
    """The request changed nothing; *code* and *fields* rebuild the error."""

    code: str
    fields: tuple[str | int | float | None, ...]
    text: str = ""  # the message, for clients that do not know the code

    @classmethod
    def of(cls, error: CortexError) -> "Refused":
        """The refusal that carries *error*."""
        return cls(type(error).__name__, tuple(error.args), str(error))

    def error(self) -> CortexError:
        """The error that this refusal carries."""
        make = REFUSALS.get(self.code)
        if make is not None:
            with contextlib.suppress(TypeError):  # another version has other fields
                return make(*self.fields)
        if self.code == CortexError.__name__:
            return CortexError(self.text)
        return CortexError(f"{self.code}: {self.text or self.fields}")


class Done(Answer, frozen=True, tag="done"):
    """The answers to requests that were sent together, in order."""

    answers: tuple[Answer, ...]


REFUSALS: dict[str, Callable[..., CortexError]] = {
    cls.__name__: cls
    for cls in (
        AskTimeoutError,
        BegunError,
        ClientDeniedError,
        ConflictError,
        CursorError,
        EventInvalidError,
        EventTooLargeError,
        FrameError,
        FrameTooLargeError,
        HubFailedError,
        LeaseLostError,
        LimitError,
        NotGrantedError,
        OutcomeUnknownError,
        SubscriptionError,
        TailLostError,
        TopicUnknownError,
        UnansweredError,
        VersionError,
    )
}
