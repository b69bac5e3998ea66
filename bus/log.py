"""The port behind a hub: what every log implementation must do.

A hub asks the log for one thing at a time: one `write` is one transaction, one `read` is one page.
Everything in a `Batch` is on disk together or not at all.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from .epochs import Epochs
from .event import Draft, decode


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One record on its way to disk; `record` is what is hashed, the rest are its columns."""

    position: int
    stream: str
    version: int
    record: bytes
    subject: str | None = None  # whose personal fields the record has, if any


class Work(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One event waiting for, or held by, a worker of a work subscription."""

    subscription: str
    position: int
    epoch: int = 0  # raised by every claim; an answer with an older one is refused
    attempts: int = 0  # claims so far
    not_before_ns: int = 0  # the lease while it is held, the backoff while it waits
    log_epoch: int = 0  # epoch of the log at the last claim; a claim that was lost is void


class SubscriptionState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One subscription with its cursor."""

    name: str
    kind: str  # "ordered" or "work"
    filter: tuple[
        tuple[str, str | None], ...
    ]  # (topic, key); None for every key, topic "*" for all
    # Every event up to here is done. For work: if it lags, the last event that was routed (after
    # `created`); else `created`, because every event is routed as it comes.
    cursor: int = 0
    attempts: int = 0  # times the event after the cursor was handed out without a commit
    created: int = 0  # head of the log when it was made


def lags(standing: SubscriptionState) -> bool:
    """Whether a work subscription has enough ready work, so that more events wait in the log."""
    return standing.kind == "work" and standing.cursor > standing.created


class Deadline(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An event that will be appended at its time."""

    name: str
    due_ns: int
    draft: bytes  # a msgpack `Draft`
    source: str  # the client that set it


class Receipt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The last numbered request of a client, with its answer."""

    client: str
    number: int
    answer: bytes


class Batch(msgspec.Struct):
    """One transaction."""

    rows: list[Row] = []
    standings: dict[str, SubscriptionState] = {}  # new or moved subscriptions, by name
    dropped: list[str] = []  # subscriptions to remove, with their work
    work: dict[tuple[str, int], Work] = {}  # new or changed, by (subscription, position)
    finished: list[tuple[str, int]] = []  # work to remove
    deadlines: dict[str, Deadline] = {}  # new or replaced, by name
    forgotten: dict[str, None] = {}  # deadlines to remove, by name
    receipts: dict[str, Receipt] = {}  # by client
    voided: list[str] = []  # receipts to remove, by client
    sync: bool = False  # it must survive a power loss, whatever the log's durability
    told: bool = False  # the noted event is among the rows

    def empty(self) -> bool:
        """Whether nothing is to be written."""
        return not (
            self.rows
            or self.standings
            or self.dropped
            or self.work
            or self.finished
            or self.deadlines
            or self.forgotten
            or self.receipts
            or self.voided
        )


class State(msgspec.Struct):
    """What a hub needs to know when it opens a log."""

    head: int  # position of the newest event, 0 for an empty log
    time_ns: int  # its time
    standings: list[SubscriptionState]
    work: list[Work]
    deadlines: list[Deadline]
    receipts: list[Receipt]
    epochs: Epochs = ()  # the newest last: this opening of the log
    unclean: bool = False  # the opening before was not closed: it may have lost its newest events
    ended: int | None = None  # where the log was closed, if it ends elsewhere now
    noted: Draft | None = None  # an event that the first transaction must record


class Log(Protocol):
    """An append-only event log with the cursors, leases and deadlines that move with it."""

    def state(self) -> State:
        """Everything but the events themselves."""
        ...

    def write(self, batch: Batch) -> None:
        """Make *batch* durable, whole or not at all, before returning.

        Raises:
            LogError: Nothing of the batch was kept; the message says why.
        """
        ...

    def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
        """Records after position *after*, in order: at most *limit*, about *limit_bytes* together.

        Returns at least one if there is one, however large.
        """
        ...

    def read_stream(self, stream: str, after: int, limit: int) -> Sequence[bytes]:
        """Records of one stream after its version *after*, in order, at most *limit*."""
        ...

    def stream_version(self, stream: str) -> int:
        """The newest version of *stream*; 0 if it has none."""
        ...

    def stream_versions(self, streams: Sequence[str]) -> Mapping[str, int]:
        """The same of each of *streams*, in one look: a hub asks for those of a batch."""
        ...

    def leaf_hashes(self, first: int, last: int) -> bytes:
        """RFC 6962 leaf hashes of positions *first* to *last*, both included, 32 bytes each."""
        ...

    def close(self) -> None:
        """Release what the log holds; a second call does nothing."""
        ...


def last_before(log: Log, head: int, time_ns: int) -> int:
    """Position of the last event before *time_ns*; times never go back in a log."""
    low, high = 0, head
    while low < high:
        middle = (low + high + 1) // 2
        if decode(log.read(middle - 1, 1, 1)[0]).time_ns < time_ns:
            low = middle
        else:
            high = middle - 1
    return low
