"""The port behind a hub: what a log must do, whoever implements it.

A hub asks the log for one thing at a time: one `write` is one transaction, one `read` is one page.
Everything in a `Batch` is on disk together or not at all.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from .epochs import Epochs
from .event import Draft


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One record on its way to disk; `record` is what is hashed, the rest are its columns."""

    position: int
    stream: str
    version: int
    record: bytes


class Work(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One event waiting for, or held by, a worker of a work subscription."""

    subscription: str
    position: int
    epoch: int = 0  # raised by every claim; an answer with an older one is refused
    attempts: int = 0  # claims so far
    not_before_ns: int = 0  # the lease while it is held, the backoff while it waits
    log_epoch: int = 0  # of the log, in which it was claimed last: a lost claim is none


class Standing(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where a subscription stands."""

    name: str
    kind: str  # "ordered" or "work"
    filter: tuple[
        tuple[str, str | None], ...
    ]  # (topic, key); None for every key, topic "*" for all
    # Every event up to here is done with; of work: past `created` where it lags, the last event
    # that was routed; else `created`, and every event is routed as it comes.
    cursor: int = 0
    attempts: int = 0  # times the event after the cursor was handed out without a commit
    created: int = 0  # head of the log when it was made


def lags(standing: Standing) -> bool:
    """Whether events wait in the log for a work subscription that has enough of them ready."""
    return standing.kind == "work" and standing.cursor > standing.created


class Deadline(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An event that will be appended at its time."""

    name: str
    due_ns: int
    draft: bytes  # a msgpack `Draft`
    source: str  # who asked for it


class Receipt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The last numbered request of a client and what it was answered."""

    client: str
    number: int
    answer: bytes


class Batch(msgspec.Struct):
    """One transaction."""

    rows: list[Row] = []
    standings: dict[str, Standing] = {}  # new or moved subscriptions, by name
    dropped: list[str] = []  # subscriptions to remove, with their work
    work: dict[tuple[str, int], Work] = {}  # new or changed, by (subscription, position)
    finished: list[tuple[str, int]] = []  # work to remove
    deadlines: dict[str, Deadline] = {}  # new or replaced, by name
    forgotten: dict[str, None] = {}  # deadlines to remove, by name
    receipts: dict[str, Receipt] = {}  # by client
    voided: list[str] = []  # receipts to remove, by client
    sync: bool = False  # it is to survive a loss of power, whatever the log's durability
    told: bool = False  # the event that was noted is among the rows

    def empty(self) -> bool:
        """Whether there is nothing to write."""
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
    """What a hub must know when it opens a log."""

    head: int  # position of the newest event, 0 for an empty log
    time_ns: int  # its time
    standings: list[Standing]
    work: list[Work]
    deadlines: list[Deadline]
    receipts: list[Receipt]
    epochs: Epochs = ()  # the newest last: this opening of the log
    unclean: bool = False  # the opening before was not closed: it may have lost its newest events
    ended: int | None = None  # where the log ended when it was closed, where it ends elsewhere now
    noted: Draft | None = None  # an event that is to be recorded with the first transaction


class Log(Protocol):
    """An append-only event log with the cursors, leases and deadlines that move with it."""

    def state(self) -> State:
        """Everything but the events themselves."""
        ...

    def write(self, batch: Batch) -> None:
        """Make *batch* durable, whole or not at all; back only once it is.

        Raises:
            LogError: Nothing of the batch was kept; the message says why.
        """
        ...

    def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
        """Records after position *after*, in order: at most *limit*, about *limit_bytes* together.

        At least one comes back where there is one, however large.
        """
        ...

    def read_stream(self, stream: str, after: int, limit: int) -> Sequence[bytes]:
        """Records of one stream after its version *after*, in order, at most *limit*."""
        ...

    def stream_version(self, stream: str) -> int:
        """The newest version of *stream*; 0 where it has none."""
        ...

    def leaf_hashes(self, first: int, last: int) -> bytes:
        """RFC 6962 leaf hashes of positions *first* to *last*, both included, 32 bytes each."""
        ...

    def close(self) -> None:
        """Release what the log holds; a second call does nothing."""
        ...
