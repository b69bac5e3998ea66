"""What happened to the log itself."""

from typing import ClassVar

from ..event import Event

SEGMENTS_STREAM = "log/segments"  # of its own: its newest event is looked up before each sealing
CLOCK_STREAM = "log/clock"  # a stream of its own: its newest event is looked up at every start


class LogClockJumped(Event, frozen=True, kw_only=True, tag="log.clock_jumped"):
    """The machine's clock was set, or is behind the log's newest event.

    The log's time never goes back: if the clock does, the log's time continues ahead of it. Its
    difference from the clock stays `ahead_ns` until the next of these events.
    """

    belongs: ClassVar[tuple[str, str]] = (CLOCK_STREAM, "")

    by_ns: int  # how far the clock was set; less than 0 for back
    clock_ns: int  # the clock after that, UTC nanoseconds
    ahead_ns: int = 0  # how far the log's time is ahead of the clock from here on
    skipped_ns: int = 0  # of the log's time before this event, how much did not pass


class LogEpochBegan(Event, frozen=True, kw_only=True, tag="log.epoch_began"):
    """The log was opened after an end that was not clean: it may have lost its newest events.

    Every opening begins an epoch; after a clean end no event is recorded.
    """

    belongs: ClassVar[tuple[str, str]] = ("log", "")

    epoch: str  # its id, in hex
    after: int  # the last position of the epochs before
    reason: str  # "unclean": it was not closed; "cut": it ended at `ended` when it was
    ended: int = 0


class LogTailLost(Event, frozen=True, kw_only=True, tag="log.tail_lost"):
    """A client knew events that are no longer in the log; the hub refused it for that reason."""

    belongs: ClassVar[tuple[str, str]] = ("log", "")

    common: int  # the last position that the client and the log have in common
    seen: int  # the newest position that the client knew
    epoch: str  # the epoch in which it saw that, in hex
    client: str


class LogForkDeclared(Event, frozen=True, kw_only=True, tag="log.fork_declared"):
    """The owner declared that signed events were lost: heads are signed under a new origin.

    It is the first event under that origin that the earlier one has not. Who keeps the earlier
    heads sees what was lost, and that it was said.
    """

    belongs: ClassVar[tuple[str, str]] = ("log", "")

    origin: str  # of heads from here on
    before: str  # of the earlier heads; "" if nothing was signed before
    signed: int  # events under the newest of the earlier heads
    common: int  # the last position that an earlier head and this log have in common
    root: str  # of the log at that position, in hex


class LogStateMended(Event, frozen=True, kw_only=True, tag="log.state_mended"):
    """Another program had changed cursors, work, deadlines or receipts; they were repaired.

    For a closed log, a person decided: what the events determine was derived from them, the rest
    is as at the last close, or as found. A running hub repairs them from memory when it closes.
    """

    belongs: ClassVar[tuple[str, str]] = ("log", "")

    how: str  # "restored": as at the last close; "accepted": as found; "kept": as the hub had it
    by: str  # the program through which the person decided, or "hub"
    found: str = ""  # how many rows of which table had changed; empty if not known
    done: str = ""  # how many rows of which table were repaired
    rows: tuple[str, ...] = ()  # the first of both, by name


class LogSegmentSealed(Event, frozen=True, kw_only=True, tag="log.segment_sealed"):
    """The oldest records of the log were compressed into a file of the archive.

    They are read from there from now on. Nothing of them is lost: the file has their exact bytes,
    and the Merkle tree keeps their leaf hashes.
    """

    belongs: ClassVar[tuple[str, str]] = (SEGMENTS_STREAM, "")

    first: int  # position of the first record
    last: int
    digest: str  # SHA-256 of the file, in hex
    record_bytes: int  # of the records
    file_bytes: int  # of the file
    by: str = ""  # "policy": [archive] in config.toml; or the program in which a person asked
