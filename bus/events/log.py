"""What happened to the log itself."""

from typing import ClassVar

from ..event import Event

CLOCK_STREAM = "log/clock"  # a stream of its own: its newest event is looked up at every start


class LogClockJumped(Event, frozen=True, kw_only=True, tag="log.clock_jumped"):
    """The machine's clock was set, or is behind the log's newest event.

    The log's time never goes back: if the clock does, the log's time continues ahead of it. Its
    difference from the clock stays `ahead_ns` until the next of these events.
    """

    belongs: ClassVar[tuple[str, str]] = (CLOCK_STREAM, "")

    by_ns: int  # how far the clock was set; less than 0 for back
    clock_ns: int  # what it said after that, UTC nanoseconds
    ahead_ns: int = 0  # how far the log's time is ahead of the clock from here on
    skipped_ns: int = 0  # of the log's time before this event, how much did not pass


class LogEpochBegan(Event, frozen=True, kw_only=True, tag="log.epoch_began"):
    """The log was opened after an end that was not clean: it may have lost its newest events.

    Every opening begins an epoch; one after a clean end is not worth an event.
    """

    belongs: ClassVar[tuple[str, str]] = ("log", "")

    epoch: str  # its id, in hex
    after: int  # the last position of the epochs before
    reason: str  # "unclean": it was not closed; "cut": it ended at `ended` when it was
    ended: int = 0


class LogTailLost(Event, frozen=True, kw_only=True, tag="log.tail_lost"):
    """A client knew events that are no longer in the log; the hub refused it and said so."""

    belongs: ClassVar[tuple[str, str]] = ("log", "")

    common: int  # the last position that the client and the log have in common
    seen: int  # the newest position that the client knew
    epoch: str  # the epoch in which it saw that, in hex
    client: str


class LogStateMended(Event, frozen=True, kw_only=True, tag="log.state_mended"):
    """Another program had changed cursors, work, deadlines or receipts; they were repaired.

    For a closed log, a person decided: what the events determine is as they say, the rest is as it
    was at the last close, or as it was found. The hub repairs them at its end, from its memory.
    """

    belongs: ClassVar[tuple[str, str]] = ("log", "")

    how: str  # "restored": as at the last close; "accepted": as found; "kept": as the hub had it
    by: str  # the program through which it was said, or "hub"
    found: str = ""  # how many rows of which table were not what they were; empty for not known
    done: str = ""  # how many rows of which table were changed now
    rows: tuple[str, ...] = ()  # the first of both, by name
